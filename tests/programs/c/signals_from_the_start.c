/* A library whose constructor, which runs before those of preloaded libraries, starts ten thousand signals a second. Their
   handler allocates: needs an allocator that signal handlers may call. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <time.h>

volatile sig_atomic_t signals;

static void on_signal(int number) {
  (void)number;
  void *volatile block = malloc(1401);
  free(block);
  signals++;
}

__attribute__((constructor)) static void start(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
  struct itimerspec often = {{0, 100000}, {0, 100000}};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) abort();
  timer_settime(timer, 0, &often, NULL);
}
