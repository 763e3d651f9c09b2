/* Frames whose size is known only at run time: alloca, arrays of variable length, both at once. */
#include "probe.h"
#include <alloca.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

NOINLINE void with_alloca(size_t count, size_t size) {
  volatile char *space = alloca(count);
  space[0] = 1;
  probe(size);
  STAY();
}

NOINLINE void with_array(size_t count, size_t size) {
  volatile char space[count];
  space[count - 1] = 1;
  with_alloca(count * 3, size);
  STAY();
}

NOINLINE void in_a_loop(size_t count, size_t size) {
  for (size_t i = 1; i <= count; i++) {
    volatile char *space = alloca(i * 10);
    space[0] = 1;
    with_array(i * 100, size + i);
    STAY();
  }
}

int main(void) {
  in_a_loop(5, 70000);
  return 0;
}
