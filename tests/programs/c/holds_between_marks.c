/* Keeps blocks of `keeps` between two marks and gives half of them back before a third, with short-lived blocks all along. */
#include "sysprof_memprof.h"
#include <stdlib.h>

enum { BLOCKS = 10, SIZE = 1000, ROUNDS = 100000 };

static void *blocks[BLOCKS];

__attribute__((noinline)) void keeps(void) {
  for (int i = 0; i < BLOCKS; i++) blocks[i] = malloc(SIZE);
}

__attribute__((noinline)) void churns(void) {
  for (int i = 0; i < ROUNDS; i++) free(malloc(32));
}

int main(void) {
  churns();
  memprof_mark("one");
  keeps();
  churns();
  memprof_mark("two");
  for (int i = 0; i < BLOCKS / 2; i++) free(blocks[i]);
  churns();
  memprof_mark("three");
  return 0;
}
