/* Makes children that run on its own memory by the system call itself, as runtimes do for themselves: they allocate,
   end, execute what is not there, or the program in the argument. Allocates afterwards, as before. Given "much", it executes
   that many times with a large environment, and prints how many KiB of addresses that has left behind. */
#include "say.h"
#include <sched.h>
#include <sys/wait.h>

enum { CHILDREN = 100, VARIABLES = 1000 };

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

static int executes_with_much(void *environment) {
  char *arguments[] = {path, "much", NULL};
  execve(path, arguments, environment);
  _exit(7);
}

static int runs(int (*way)(void *), void *argument) {
  static _Alignas(16) char stack[1 << 16];
  int status;
  pid_t child = clone(way, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, argument);
  return child <= 0 || waitpid(child, &status, 0) != child ? -1 : WEXITSTATUS(status);
}

/* In KiB. */
static long addresses(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld", &pages) != 1) exit(20);
  fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static int starts_many(void) {
  char *environment[VARIABLES + 1] = {NULL};
  for (int i = 0; i < VARIABLES; i++) environment[i] = "VARIABLE=";
  const long before = addresses();
  for (int i = 0; i < CHILDREN; i++) {
    if (runs(executes_with_much, environment) != 0) return 21;
  }
  printf("%ld\n", addresses() - before);
  return 0;
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  path = arguments[1];
  if (count > 2 && strcmp(arguments[2], "much") == 0) return starts_many();
  int (*const ways[])(void *) = {ends, allocates, fails_to_execute, executes};
  const int codes[] = {3, 4, 5, 0};
  for (int i = 0; i < 4; i++) {
    if (runs(ways[i], NULL) != codes[i]) return 10 + i;
    free(malloc(2302));
  }
  return 0;
}
