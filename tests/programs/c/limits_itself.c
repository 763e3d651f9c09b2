/* Sets a limit on itself, allocates, starts the program in the second argument, and allocates again.

     limits_itself as|fsize|nofile|nproc|stack|memlock PROGRAM */
#include "say.h"
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

int main(int count, char **arguments) {
  if (count < 3) return 1;
  const char *what = arguments[1];
  struct rlimit megabytes = {192 << 20, 192 << 20}, none = {0, 0}, few = {3, 3}, page = {65536, 65536};
  free(malloc(2601));
  int error = strcmp(what, "as") == 0        ? setrlimit(RLIMIT_AS, &megabytes)
              : strcmp(what, "data") == 0    ? setrlimit(RLIMIT_DATA, &megabytes)
              : strcmp(what, "fsize") == 0   ? setrlimit(RLIMIT_FSIZE, &none)
              : strcmp(what, "nofile") == 0  ? setrlimit(RLIMIT_NOFILE, &few)
              : strcmp(what, "stack") == 0   ? setrlimit(RLIMIT_STACK, &page)
              : strcmp(what, "memlock") == 0 ? setrlimit(RLIMIT_MEMLOCK, &none)
                                             : -1;
  if (error != 0) return 2;
  for (int i = 0; i < 100; i++) free(malloc(2602));
  pid_t child = fork();
  if (child == 0) {
    free(malloc(2603));
    execl(arguments[2], arguments[2], what, NULL);
    _exit(3);
  }
  int status;
  if (waitpid(child, &status, 0) != child) return 4;
  free(malloc(2604));
  /* Everything is to be had, locked, as before. */
  if (strcmp(what, "memlock") != 0 && strcmp(what, "as") != 0 && strcmp(what, "data") != 0) mlockall(MCL_CURRENT);
  free(malloc(2604));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}
