// Calls a tiny function over and over, for so many milliseconds of processor time as the argument says. Without
// optimisation its last instructions, `pop %rbp` and `ret`, are a good part of it.
#include "work.h"
#include <stdlib.h>

static volatile unsigned count;

__attribute__((noinline)) static void step(void) { count++; }

__attribute__((noinline)) static void loop(void) {
    for (int turn = 0; turn < 1000000; turn++) step();
}

int main(int argc, char **arguments) {
    long until = cpu_ms() + (argc > 1 ? atol(arguments[1]) : 200);
    while (cpu_ms() < until) loop();
    return 0;
}
