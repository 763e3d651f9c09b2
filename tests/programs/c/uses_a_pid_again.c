/* Has two children one after the other that get the same pid, in a pid namespace of its own. */
#include "say.h"
#include <sys/wait.h>

static pid_t start(pid_t wanted, size_t size) {
  FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "w");
  if (last == NULL || fprintf(last, "%d", wanted - 1) < 0 || fclose(last) != 0) exit(77);
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 10; i++) free(malloc(size));
    _exit(0);
  }
  waitpid(child, NULL, 0);
  return child;
}

int main(void) {
  pid_t first = start(4242, 1601), second = start(4242, 1602);
  printf("%d %d\n", first, second);
  return 0;
}
