/* Allocates in signal handlers: called by raise, on another stack, interrupting code at any instruction, at a fault in
   a function without a frame, and in one handler that interrupts another. */
#define _GNU_SOURCE
#include "probe.h"
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#define NOINLINE __attribute__((noinline))

static volatile sig_atomic_t size_of_usr1 = 70001, ticks;
static sigjmp_buf behind_fault;

static void on_usr1(int signal) {
  (void)signal;
  probe((size_t)size_of_usr1);
  STAY();
}

static void on_usr2(int signal) {
  (void)signal;
  raise(SIGUSR1);
  probe(70003);
  STAY();
}

static void on_timer(int signal) {
  (void)signal;
  if (ticks < 5) probe(70010 + (size_t)++ticks);
  STAY();
}

static void on_fault(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)info, (void)context;
  probe(70020);
  siglongjmp(behind_fault, 1);
}

/* The first instruction faults: no frame was made yet. */
NOINLINE static char fault(volatile char *place) { return *place; }

NOINLINE static unsigned compute_until_interrupted(void) {
  unsigned sum = 1;
  while (ticks < 5) sum = sum * 1664525 + 1013904223;
  return sum;
}

static void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  sigaction(signal, &action, NULL);
}

int main(void) {
  static char stack[1 << 16];
  stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&other, NULL);

  handle(SIGUSR1, on_usr1, 0);
  raise(SIGUSR1);
  handle(SIGUSR1, on_usr1, SA_ONSTACK);
  size_of_usr1 = 70002;
  raise(SIGUSR1);
  handle(SIGUSR2, on_usr2, SA_ONSTACK | SA_NODEFER);
  size_of_usr1 = 70004;
  raise(SIGUSR2);

  struct sigaction fatal = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigaction(SIGSEGV, &fatal, NULL);
  char *forbidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (sigsetjmp(behind_fault, 1) == 0) fault(forbidden);

  handle(SIGALRM, on_timer, SA_RESTART);
  struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  compute_until_interrupted();
  setitimer(ITIMER_REAL, &never, NULL);
  return 0;
}
