/* Resizes blocks in ways that fail, that free, that stay in place and that move. Everything is freed in the end. */
#include "say.h"

enum { TIMES = 200 };

int main(void) {
  volatile size_t huge = SIZE_MAX / 2;
  for (int i = 0; i < TIMES; i++) {
    void *block = malloc(5000);
    if (realloc(block, huge) != NULL) return 1;
    free(block);
    block = malloc(6000);
    if (realloc(block, huge) != NULL || realloc(block, 0) != NULL) return 1;
    /* Smaller in place, so small that it is seldom a sample, and large again. */
    block = realloc(realloc(malloc(7000), 1), 8000);
    free(block);
  }
  return 0;
}
