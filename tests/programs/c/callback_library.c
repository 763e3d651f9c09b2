/* A library that calls back into whoever calls it. */
#include "probe.h"

__attribute__((noinline)) void call_back(void (*function)(size_t), size_t size) {
  function(size);
  STAY();
}
