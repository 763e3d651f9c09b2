/* A library with one function, whose name and size are given at compile time: FUNCTION, SIZE. */
#include <stdlib.h>

__attribute__((noinline)) static void *FUNCTION(void) {
  void *block = malloc(SIZE);
  __asm__ volatile("");
  return block;
}

void *lend(void) {
  void *block = FUNCTION();
  __asm__ volatile("");
  return block;
}

const size_t lent_size = SIZE;
