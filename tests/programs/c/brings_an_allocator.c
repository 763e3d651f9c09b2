/* Has a function of an allocator, FUNCTION, linked into it. */
#include "say.h"

void *FUNCTION(size_t size) {
  static char block[64];
  return size > sizeof block ? NULL : block;
}

int main(void) {
  void *(*volatile function)(size_t) = FUNCTION;
  if (function(10) == NULL) return 1;
  printf("it ran\n");
  return 0;
}
