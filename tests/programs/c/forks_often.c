/* Forks 200 times, each child with a number of allocations of its own, some of the children forking again. */
#include "say.h"
#include <sys/wait.h>

int main(void) {
  for (int i = 0; i < 200; i++) {
    pid_t child = fork();
    if (child == 0) {
      for (int j = 0; j < 10 + i; j++) free(malloc(600));
      if (i % 10 == 0 && fork() == 0) {
        free(malloc(601));
        _exit(0);
      }
      while (wait(NULL) > 0) {
      }
      _exit(i % 3);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || WEXITSTATUS(status) != i % 3) return 1;
  }
  return 0;
}
