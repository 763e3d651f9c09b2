/* A library whose constructor, which runs before those of preloaded libraries, starts signals that come some
   thousand times a second: each a moment after the handler of the last one, so that the program gets on however slow that
   is. The handler allocates: needs an allocator that signal handlers may call. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <time.h>

volatile sig_atomic_t signals;
static timer_t timer;

static void start_timer(void) {
  struct itimerspec once = {{0, 0}, {0, 100000}};
  timer_settime(timer, 0, &once, NULL);
}

static void on_signal(int number) {
  (void)number;
  void *volatile block = malloc(1401);
  free(block);
  signals++;
  start_timer();
}

__attribute__((constructor)) static void start(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) abort();
  start_timer();
}
