/* Makes children that run on its own memory by the system call itself, as runtimes do for themselves: they allocate,
   end, execute what is not there, or the program in the argument. Allocates afterwards, as before. */
#include "say.h"
#include <sched.h>
#include <sys/wait.h>

static char *path;

static int ends(void *nothing) {
  (void)nothing;
  _exit(3);
}

static int allocates(void *nothing) {
  (void)nothing;
  free(malloc(2301));
  _exit(4);
}

static int fails_to_execute(void *nothing) {
  (void)nothing;
  char *arguments[] = {"nonexistent", NULL}, *environment[] = {NULL};
  execve("/nonexistent", arguments, environment);
  _exit(5);
}

static int executes(void *nothing) {
  (void)nothing;
  char *arguments[] = {path, "clone", NULL}, *environment[] = {NULL};
  execve(path, arguments, environment);
  _exit(6);
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  path = arguments[1];
  static _Alignas(16) char stack[1 << 16];
  int (*const ways[])(void *) = {ends, allocates, fails_to_execute, executes};
  const int codes[] = {3, 4, 5, 0};
  for (int i = 0; i < 4; i++) {
    int status;
    pid_t child = clone(ways[i], stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    if (child <= 0 || waitpid(child, &status, 0) != child || WEXITSTATUS(status) != codes[i]) return 10 + i;
    free(malloc(2302));
  }
  return 0;
}
