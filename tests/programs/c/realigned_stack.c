/* Frames that realign the stack, whose frame address only an expression in the tables can tell. */
#include "probe.h"
#include <alloca.h>

#define NOINLINE __attribute__((noinline))

struct wide {
  _Alignas(64) volatile char bytes[128];
};

NOINLINE void realigned(size_t size) {
  struct wide local;
  local.bytes[size % 128] = 1;
  probe(size);
  STAY();
}

/* With arguments on the stack and alloca there is a pointer to them of its own. */
NOINLINE long realigned_with_arguments(long a, long b, long c, long d, long e, long f, long g, size_t size) {
  struct wide local;
  volatile char *space = alloca((size_t)a * 40);
  local.bytes[a % 128] = 1, space[0] = 2;
  realigned(size);
  STAY();
  return a + b + c + d + e + f + g + local.bytes[a % 128] + space[0];
}

NOINLINE long nested(size_t size) {
  struct wide local;
  local.bytes[1] = 1;
  long sum = realigned_with_arguments(1, 2, 3, 4, 5, 6, 7, size) + local.bytes[1];
  STAY();
  return sum;
}

int main(void) { return nested(70001) + nested(70002) != 2 * (28 + 3 + 1); }
