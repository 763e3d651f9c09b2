/* Allocates what its test knows, from one function for each way a block can live. */
#include "say.h"

#define APART __attribute__((noinline))

enum { TIMES = 50000, CHAINS = 500, LARGE = 30 };

/* Never freed. */
APART static void lasting(void) {
  for (int i = 0; i < TIMES; i++) {
    char *block = malloc(48);
    if (block) *block = 1;
  }
}

/* Freed before the next allocation. */
APART static void temporary(void) {
  for (int i = 0; i < TIMES; i++) free(malloc(120));
}

/* Freed after the next allocation, which is seldom a sample. */
APART static void delayed(void) {
  void *before = NULL;
  for (int i = 0; i < TIMES; i++) {
    void *block = malloc(200);
    free(before);
    before = block;
  }
  free(before);
}

/* Grown by realloc from 16 bytes to 64 KiB, thirteen allocations, and freed. */
APART static void growing(void) {
  for (int i = 0; i < CHAINS; i++) {
    void *block = NULL;
    for (size_t size = 16; size <= 65536; size *= 2) block = realloc(block, size);
    free(block);
  }
}

APART static void zeroed(void) {
  for (int i = 0; i < TIMES; i++) free(calloc(3, 100));
}

/* Each larger than twenty intervals; never freed. */
APART static void certain(void) {
  for (int i = 0; i < LARGE; i++) {
    char *block = malloc(200000 + i);
    if (block) *block = 1;
  }
}

int main(void) {
  lasting();
  temporary();
  delayed();
  growing();
  zeroed();
  certain();
  return 0;
}
