/* Has mprotect fail from now on, as a service may that needs no more of it, and allocates from 8,192 different stacks then. */
#include "say.h"
#include "filter.h"

static void even(int depth, unsigned way);
static void odd(int depth, unsigned way);

static void allocate(void) { free(malloc(2001)); }

#define STEP(name) \
  __attribute__((noinline)) static void name(int depth, unsigned way) { \
    if (depth == 0) allocate(); \
    else if (way & 1) odd(depth - 1, way >> 1); \
    else even(depth - 1, way >> 1); \
    __asm__ volatile(""); \
  }
STEP(even)
STEP(odd)

int main(void) {
  allocate();
  if (refuse(SYS_mprotect)) return 1;
  for (unsigned way = 0; way < 1 << 13; way++) even(13, way);
  return 0;
}
