// Works in known places: `burn` computes and allocates nothing, `churn` allocates and frees, `asks_the_kernel` is in a
// system call. Each goes on until it has had so much processor time, in milliseconds, as the argument says. It looks at
// that often enough for slow machines, too: a turn takes less than a millisecond.
#define _GNU_SOURCE
#include "work.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

__attribute__((noinline)) static void burn(long until) {
    while (cpu_ms() < until)
        for (int i = 0; i < 100000; i++) sink += i * 7;
}

__attribute__((noinline)) static void churn(long until) {
    while (cpu_ms() < until)
        for (int i = 0; i < 500; i++) {
            void *volatile block = malloc(1234);
            free(block);
        }
}

__attribute__((noinline)) static void asks_the_kernel(long until) {
    static char bytes[1 << 16];
    // A call that libc and the loader do not make for themselves.
    struct iovec all = {bytes, sizeof bytes};
    int zeroes = open("/dev/zero", O_RDONLY);
    while (cpu_ms() < until)
        for (int i = 0; i < 10; i++)
            if (readv(zeroes, &all, 1) < 0) abort();
    close(zeroes);
}

int main(int count, char **arguments) {
    long each = count > 1 ? atol(arguments[1]) : 200;
    long start = cpu_ms();
    burn(start + each);
    churn(start + 2 * each);
    asks_the_kernel(start + 3 * each);
    void *volatile kept = malloc(4321);
    free(kept);
    return 0;
}
