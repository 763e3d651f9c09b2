/* Runs a coroutine on a block whose memory libc gives back by itself, and another one on a block below, so that its newest frames lie as
   those of the first did, and what was above them is gone.

     coroutine_in_a_block mapped|break|arena FRAMES      so many more than it takes to be at the same depth */
#include "say.h"
#include <malloc.h>
#include <pthread.h>
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

enum { FRAME = 512, FRAMES = 1000, LARGE = 1 << 20 };

static int more;

static void run_both(size_t between, size_t size) {
  char *first = malloc(LARGE);
  run(first, LARGE, FRAMES);
  free(first);
  char *room = between ? malloc(between) : NULL;
  char *second = malloc(size);
  free(room);
  long apart = (first + LARGE) - (second + size);
  run(second, size, FRAMES - apart / FRAME + more);
  free(second);
}

static void *in_an_arena(void *nothing) {
  /* What is in the first part of an arena stays mapped. */
  char *fill[] = {malloc(31 << 20), malloc(31 << 20), malloc(3 << 19)};
  /* Where the arena's own part lies just so, once in 16384 times, the first one after it has a place that does not come again. */
  free(malloc(LARGE));
  run_both(0, 768 << 10);
  for (int i = 0; i < 3; i++) free(fill[i]);
  return nothing;
}

int main(int count, char **arguments) {
  if (count != 3) return 2;
  more = atoi(arguments[2]);
  int is_mapped = arguments[1][0] == 'm';
  mallopt(M_MMAP_THRESHOLD, is_mapped ? 128 << 10 : 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 4096);
  mallopt(M_TOP_PAD, 0);
  if (arguments[1][0] == 'a') {
    pthread_t thread;
    return pthread_create(&thread, NULL, in_an_arena, NULL) || pthread_join(thread, NULL);
  }
  if (is_mapped) {
    run_both(132 << 10, 768 << 10);
  } else {
    run_both(0, 768 << 10);
  }
  return 0;
}
