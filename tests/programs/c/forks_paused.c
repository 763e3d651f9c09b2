/* Forks while nothing is wanted; the child wants its blocks recorded, the parent does not. */
#include "say.h"
#include "sysprof_memprof.h"
#include <sys/wait.h>

int main(void) {
  int status = 1;
  void *before = malloc(101);
  pid_t child;
  memprof_stop();
  free(malloc(102));
  child = fork();
  if (child == 0) {
    free(malloc(103));
    memprof_start();
    memprof_mark("child");
    free(before);
    return malloc(1001) == NULL;
  }
  free(malloc(104));
  waitpid(child, &status, 0);
  memprof_mark("parent");
  return status;
}
