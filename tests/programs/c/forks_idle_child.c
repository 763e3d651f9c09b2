/* Forks a child that never calls an allocator. */
#include "say.h"
#include <sys/wait.h>

int main(void) {
  pid_t child = fork();
  if (child == 0) _exit(5);
  int status;
  if (waitpid(child, &status, 0) != child) return 1;
  printf("%d\n", child);
  return WEXITSTATUS(status) == 5 ? 0 : 1;
}
