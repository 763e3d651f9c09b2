// Works in `leaf`, a function that calls no others, for so many milliseconds of processor time as the argument says. Where calls leave
// the return address in a register, that of `leaf` is nowhere else.
#include "work.h"
#include <stdlib.h>

__attribute__((noinline)) static unsigned long leaf(unsigned long value) {
    for (int turn = 0; turn < 100000; turn++) value = value * 31 + (value >> 7);
    return value;
}

__attribute__((noinline)) static unsigned long calls_it(unsigned long value) { return leaf(value) + 1; }

int main(int count, char **arguments) {
    long until = cpu_ms() + (count > 1 ? atol(arguments[1]) : 200);
    while (cpu_ms() < until) sink = calls_it(sink);
    return 0;
}
