/* Stacks that are hard to tell from the last one: directed_stacks TIMES
 *
 * Two calls of one function, in turn, under nine frames that are the same each time; and coroutines on stacks that are
 * used again and again, from two places each. */
#include "say.h"
#include <ucontext.h>

enum { NEWER = 9, COROUTINES = 8, STACK = 64 * 1024 };

static void *volatile block;

__attribute__((noinline)) static void allocate(void) {
  block = malloc(24);
  free(block);
}

/* Nothing of it depends on who calls. */
__attribute__((noinline)) static int newer(int left) {
  if (left == 0) allocate();
  return left == 0 ? 0 : newer(left - 1) + 1;
}

__attribute__((noinline)) static int two_calls(long turn) {
  if (turn % 2) return newer(NEWER) + 1;
  return newer(NEWER) + 2;
}

static ucontext_t main_context, contexts[COROUTINES];
static char *stacks[COROUTINES];

static void first_body(void) { newer(3); }
static void second_body(void) {
  newer(3);
  allocate();
}

static void run_coroutine(int number, void (*body)(void)) {
  ucontext_t *context = &contexts[number];
  if (getcontext(context) != 0) exit(1);
  context->uc_stack.ss_sp = stacks[number];
  context->uc_stack.ss_size = STACK;
  context->uc_link = &main_context;
  makecontext(context, body, 0);
  if (swapcontext(&main_context, context) != 0) exit(1);
}

int main(int argc, char **argv) {
  long times = argc > 1 ? atol(argv[1]) : 1000;
  for (int i = 0; i < COROUTINES; i++) stacks[i] = malloc(STACK);
  long sum = 0;
  for (long turn = 0; turn < times; turn++) sum += two_calls(turn);
  for (long turn = 0; turn < times; turn++)
    run_coroutine((int)(turn * 7 % COROUTINES), turn % 3 ? first_body : second_body);
  printf("%ld\n", sum);
  return 0;
}
