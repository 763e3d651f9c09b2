/* Calls through four functions, with arguments on the stack and a loop. */
#include "probe.h"

#define NOINLINE __attribute__((noinline))

NOINLINE void inner(size_t size) {
  probe(size);
  STAY();
}

NOINLINE long many(long a, long b, long c, long d, long e, long f, long g, long h, size_t size) {
  long sum = a + b * c + d * e + f * g + h;
  inner(size);
  STAY();
  return sum;
}

NOINLINE long outer(size_t size) {
  volatile char space[333];
  space[size % 333] = 1;
  long sum = many(1, 2, 3, 4, 5, 6, 7, 8, size) + space[size % 333];
  STAY();
  return sum;
}

int main(void) {
  long sum = 0;
  for (size_t i = 0; i < 3; i++) sum += outer(70001 + i);
  return sum != 3 * (1 + 6 + 20 + 42 + 8 + 1);
}
