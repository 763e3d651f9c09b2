/* A signal handler that allocates and frees a thousand times a second while main does nothing else. Needs an allocator
   that signal handlers may call; prints how often each has allocated.

     signal_storm SIGNALS */
#include "say.h"
#include <signal.h>
#include <time.h>

static volatile sig_atomic_t signals;

static void on_signal(int number) {
  (void)number;
  free(malloc(1301));
  signals++;
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  int wanted = atoi(arguments[1]);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigaction(SIGPROF, &action, NULL);
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
  struct itimerspec often = {{0, 1000000}, {0, 1000000}}, never = {{0, 0}, {0, 0}};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return 1;
  timer_settime(timer, 0, &often, NULL);
  long calls = 0;
  for (; signals < wanted; calls++) free(malloc(1300));
  timer_settime(timer, 0, &never, NULL);
  /* What signals have done within the last call is told with the next. */
  free(malloc(1302));
  printf("%ld %d\n", calls, (int)signals);
  return 0;
}
