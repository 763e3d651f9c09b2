/* Forks in ways that no handler of pthread_atfork sees: _Fork, and the system call. Each child allocates, frees what it
   inherited, and forks as usual; so does its parent. */
#include "say.h"
#include <sys/syscall.h>
#include <sys/wait.h>

enum { TIMES = 1000, INHERITED = 50 };

static int work(void **inherited, size_t size) {
  for (int i = 0; i < TIMES; i++) free(malloc(size));
  for (int i = 0; i < INHERITED; i++) free(inherited[i]);
  pid_t child = fork();
  if (child == 0) {
    free(malloc(size));
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

int main(void) {
  for (int way = 0; way < 2; way++) {
    void *inherited[INHERITED];
    for (int i = 0; i < INHERITED; i++) inherited[i] = malloc(2401);
    pid_t child = way == 0 ? _Fork() : (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) _exit(work(inherited, 2402 + (size_t)way));
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
    if (work(inherited, 2404) != 0) return 2;
  }
  return 0;
}
