/* Allocates until a timer's handler has forked 50 children, each of which goes on to allocate as its parent does, a hundred times, but
   a while later. Says how
   many blocks the parent has allocated. FORK is the function that forks. */
#include "say.h"
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

enum { FORKS = 50 };
static volatile sig_atomic_t is_child, forks;

static void on_alarm(int number) {
  (void)number;
  if (is_child || forks >= FORKS) return;
  pid_t child = FORK();
  if (child == 0) {
    is_child = 1;
    usleep(5000);
  }
  if (child > 0) forks++;
}

int main(void) {
  struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
  long blocks = 0, left = 100;
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  while (forks < FORKS) {
    free(malloc(2101));
    blocks++;
    if (is_child && left-- == 0) _exit(0);
  }
  setitimer(ITIMER_REAL, &never, NULL);
  while (wait(NULL) > 0) {}
  printf("%ld\n", blocks);
  return 0;
}
