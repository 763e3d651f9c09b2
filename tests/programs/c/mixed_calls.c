/* A long, repeatable mixture of all calls, in one thread. */
#include "say.h"
#include <malloc.h>

enum { PLACES = 700, STEPS = 40000 };

static uint64_t state = 88172645463325252u;

static uint64_t next_random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

int main(void) {
  static void *blocks[PLACES];
  for (int step = 0; step < STEPS; step++) {
    void **place = &blocks[next_random() % PLACES];
    size_t size = next_random() % 64 == 0 ? next_random() % 300000 : next_random() % 900;
    switch (next_random() % 9) {
      case 0: free(*place), *place = calloc(1 + size % 7, size / 7); break;
      case 1: free(*place), *place = memalign(64, size); break;
      case 2: free(*place), *place = aligned_alloc(32, (size + 31) & ~(size_t)31); break;
      case 3: *place = realloc(*place, size + 1); break;
      case 4: *place = reallocarray(*place, 3, size / 3 + 1); break;
      case 5: free(*place), *place = NULL; break;
      case 6: *place = realloc(*place, step % 10 == 0 ? 0 : size + 1); break;
      default: free(*place), *place = malloc(size); break;
    }
  }
  return 0;
}
