/* A library that copies strings and frees the copies: ten of 24 bytes in its constructor, and ten of 40 each time it lends a block. */
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static void copy(const char *text) {
  for (int number = 0; number < 10; number++) {
    char *copied = strdup(text);
    __asm__ volatile("" ::"r"(copied) : "memory");
    free(copied);
  }
}

__attribute__((constructor)) static void begin(void) { copy("a string of 24 bytes...."  + 1); }

void *lend(void) {
  copy("a string of 40 bytes...................." + 1);
  return malloc(1405);
}
