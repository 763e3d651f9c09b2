// Computes before its first block, between its two blocks and after them, each for a tenth of a second.
#define _GNU_SOURCE
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;

static long cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void work(void) {
    long until = cpu_ms() + 100;
    while (cpu_ms() < until)
        for (int i = 0; i < 10000; i++) sink += i * 7;
}

__attribute__((noinline)) static void before(void) {
    work();
    sink++;
}

__attribute__((noinline)) static void between(void) {
    work();
    sink++;
}

__attribute__((noinline)) static void after(void) {
    work();
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
