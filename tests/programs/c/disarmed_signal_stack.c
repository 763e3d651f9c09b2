/* Signal handlers on a stack that is disarmed while they run, two thousand times a second: they interrupt whatever there is. Needs an
   allocator that may be called at any instruction. Prints how often the handler and the loop have allocated. */
#include "say.h"
#include <signal.h>
#include <sys/time.h>

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

static volatile int handled;

static void on_signal(int number) {
  (void)number;
  free(malloc(2301));
  handled++;
}

int main(void) {
  /* Above the frames of hooks, where later hooks are found when one was left by longjmp. */
  char above[1 << 16];
  stack_t stack = {.ss_sp = above, .ss_size = sizeof above, .ss_flags = (int)SS_AUTODISARM};
  /* Which one was set is not to be seen in it any more then. */
  if (sigaltstack(&stack, &stack)) return 1;
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
  long looped = 0;
  setitimer(ITIMER_REAL, &often, NULL);
  while (handled < 1500) {
    free(malloc(2302));
    looped++;
  }
  setitimer(ITIMER_REAL, &never, NULL);
  printf("%d %ld\n", handled, looped);
  return 0;
}
