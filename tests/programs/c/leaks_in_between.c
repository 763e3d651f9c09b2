// Holds 1 MiB by `old`, then frees it and leaks 1 MiB by `leaky`: what there is before and after is known to the byte.
// Before and after that is a time of two milliseconds in which nothing happens, in the middle of it an allocation of a
// size that nobody else asks for.
#include <stdlib.h>
#include <time.h>

static void *blocks[16];

__attribute__((noinline)) void old(void) {
    for (int i = 0; i < 16; i++) blocks[i] = malloc(65536);
}

__attribute__((noinline)) void forget(void) {
    for (int i = 0; i < 16; i++) free(blocks[i]);
}

__attribute__((noinline)) void leaky(void) {
    for (int i = 0; i < 16; i++) blocks[i] = malloc(65536);
}

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void pause_a_moment(void) {
    for (long long end = now() + 2000000; now() < end;) continue;
}

__attribute__((noinline)) void moment(size_t size) {
    pause_a_moment();
    free(malloc(size));
    pause_a_moment();
}

int main(void) {
    old();
    moment(12345);
    forget();
    leaky();
    moment(54321);
    return blocks[0] == NULL;
}
