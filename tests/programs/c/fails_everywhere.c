/* Asks for more than there is in a child of vfork, in a child of fork, and in a signal handler, each time for another size. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile size_t much = 1ul << 47;

__attribute__((noinline)) static void ask(size_t more) {
  void *volatile none = malloc(much + more);
  if (none != NULL) _exit(1);
}

static void handle(int signal) {
  (void)signal;
  ask(3);
}

static int waits_for(pid_t child) {
  int status = 1;
  return waitpid(child, &status, 0) == child && status == 0;
}

int main(void) {
  free(malloc(10));
  pid_t child = vfork();
  if (child == 0) {
    ask(1);
    _exit(0);
  }
  if (!waits_for(child)) return 2;
  child = fork();
  if (child == 0) {
    ask(2);
    _exit(0);
  }
  if (!waits_for(child)) return 3;
  signal(SIGUSR1, handle);
  raise(SIGUSR1);
  return 0;
}
