/* Back and forth between a program and a library, by lazily bound entries. */
#include "probe.h"

void call_back(void (*function)(size_t), size_t size);

static void inner(size_t size) {
  probe(size);
  STAY();
}

static void outer(size_t size) {
  call_back(inner, size);
  STAY();
}

int main(void) {
  call_back(outer, 70001);
  call_back(outer, 70002);
  return 0;
}
