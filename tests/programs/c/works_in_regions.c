/* Allocates in three regions of one name and around them, in each more than before; one region more is never ended. */
#include "sysprof_memprof.h"
#include <stdlib.h>

void *volatile kept;

__attribute__((noinline)) void outside(void) {
  kept = malloc(10);
}

__attribute__((noinline)) void inside(int round) {
  kept = malloc(1000 * round);
  free(malloc(7));
}

int main(void) {
  for (int round = 1; round <= 3; round++) {
    outside();
    memprof_mark_begin("pass");
    inside(round);
    memprof_mark_end("pass");
  }
  memprof_mark("done");
  memprof_mark_begin("rest");
  inside(5);
  return 0;
}
