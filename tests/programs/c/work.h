/* Work of the processor that lasts, however fast that is. */
#ifndef WORK_H
#define WORK_H
#include <time.h>

static volatile unsigned long sink;

static long cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Computes for so many milliseconds of CPU time. */
static inline void work(long milliseconds) {
    long until = cpu_ms() + milliseconds;
    while (cpu_ms() < until)
        for (int i = 0; i < 10000; i++) sink += i * 7;
}
#endif
