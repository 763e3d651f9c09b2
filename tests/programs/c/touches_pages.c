// Writes to each page of 4 MiB of memory, so many times: of a new mapping each time when it is told `new`, so that each write is
// a page fault, else of one mapping that is there already. Prints the processor time of all that writing in nanoseconds.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { LENGTH = 4 << 20, PAGE = 4096 };

static long cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000 + now.tv_nsec;
}

static char *map(void) {
    char *memory = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    // A huge page would be one fault.
    madvise(memory, LENGTH, MADV_NOHUGEPAGE);
    return memory;
}

__attribute__((noinline)) static void touch(volatile char *memory) {
    for (long at = 0; at < LENGTH; at += PAGE) memory[at] = 1;
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    int fresh = strcmp(arguments[1], "new") == 0;
    long turns = atol(arguments[2]), spent = 0;
    char *memory = map();
    touch(memory);
    for (long turn = 0; turn < turns; turn++) {
        if (fresh) {
            munmap(memory, LENGTH);
            memory = map();
        }
        long start = cpu_ns();
        touch(memory);
        spent += cpu_ns() - start;
    }
    printf("%ld\n", spent);
    return 0;
}
