/* Allocates on a stack of the program's own making, to which it switches back and forth. */
#include "probe.h"
#include <ucontext.h>

static ucontext_t here, there;

static void inner(size_t size) {
  probe(size);
  STAY();
}

static void coroutine(void) {
  inner(70001);
  swapcontext(&there, &here);
  inner(70002);
}

int main(void) {
  static char stack[1 << 16];
  getcontext(&there);
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = sizeof stack;
  there.uc_link = &here;
  makecontext(&there, coroutine, 0);
  swapcontext(&here, &there);
  inner(70003);
  swapcontext(&here, &there);
  return 0;
}
