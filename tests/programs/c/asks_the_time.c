/* Asks for the time again and again, which the kernel's code in this process answers, as long as the argument says: milliseconds. */
#include "work.h"
#include <stdlib.h>

__attribute__((noinline)) static void asks_the_time(long until) {
  struct timespec now;
  while (cpu_ms() < until)
    for (int i = 0; i < 100000; i++) {
      clock_gettime(CLOCK_MONOTONIC, &now);
      sink += now.tv_nsec;
    }
}

int main(int count, char **arguments) {
  void *volatile kept = malloc(77);
  asks_the_time(cpu_ms() + (count > 1 ? atol(arguments[1]) : 200));
  free(kept);
  return 0;
}
