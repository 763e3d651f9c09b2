/* Runs a coroutine on a block that libc maps by itself, gives that back, and runs another one on a block below, so that its newest
   frames lie as those of the first did, and what was above them is gone.

     coroutine_in_a_block FRAMES      so many more than it takes to be at the same depth */
#include "say.h"
#include <malloc.h>
#include <ucontext.h>

static ucontext_t back, coroutine;
static volatile int sum;
static int depth;

__attribute__((noinline)) static int deeper(int more) {
  volatile char room[496];
  room[0] = 1;
  if (more == 0) {
    free(malloc(2001));
    return 1;
  }
  int below = deeper(more - 1);
  __asm__ volatile("");
  return below + room[0];
}

static void begin(void) { sum += deeper(depth); }

static void run(char *stack, size_t size, int frames) {
  depth = frames;
  getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = stack;
  coroutine.uc_stack.ss_size = size;
  coroutine.uc_link = &back;
  makecontext(&coroutine, begin, 0);
  swapcontext(&back, &coroutine);
}

enum { FRAME = 512, LARGE = 1 << 20, SMALL = 512 << 10 };

int main(int count, char **arguments) {
  if (count != 2) return 2;
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  char *first = malloc(LARGE);
  run(first, LARGE, 1000);
  free(first);
  char *between = malloc(132 << 10);
  char *second = malloc(SMALL);
  free(between);
  long apart = (first + LARGE) - (second + SMALL);
  run(second, SMALL, 1000 - apart / FRAME + atoi(arguments[1]));
  free(second);
  return 0;
}
