// Computes before its first block, between its two blocks and after them, each for a tenth of a second.
#define _GNU_SOURCE
#include "work.h"
#include <stdlib.h>

__attribute__((noinline)) static void before(void) {
    work(100);
    sink++;
}

__attribute__((noinline)) static void between(void) {
    work(100);
    sink++;
}

__attribute__((noinline)) static void after(void) {
    work(100);
    sink++;
}

int main(void) {
    before();
    void *volatile first = malloc(2001);
    between();
    void *volatile second = malloc(2002);
    after();
    free(first);
    free(second);
    return 0;
}
