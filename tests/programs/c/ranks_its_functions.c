/* A library of functions that allocate more the later they stand here, and one that never runs. */
#include <stdlib.h>

__attribute__((noinline)) void library_never(void) { free(malloc(1)); }

__attribute__((noinline)) static void library_warm(int times) {
  for (int time = 0; time < times; ++time) free(malloc(20));
}

__attribute__((noinline)) static void library_hot(int times) {
  for (int time = 0; time < times; ++time) free(malloc(30));
}

void library_enter(int times) {
  if (times < 0) library_never();
  library_warm(times);
  library_hot(10 * times);
}
