// Two blocks of one stack, each held by a variable of its own, hold a third one together; in a list of two, one of them does.
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))
#define USED(block) __asm__ volatile("" ::"r"(block) : "memory")

NOINLINE static void **make_holder(void) {
    void **block = calloc(1, 64);
    USED(block);
    return block;
}

NOINLINE static void *make_shared(void) {
    void *block = calloc(1, 1000000);
    USED(block);
    return block;
}

NOINLINE static void **make_list(void) {
    void **block = calloc(1, 64);
    USED(block);
    return block;
}

NOINLINE static void *make_listed(void) {
    void *block = calloc(1, 500000);
    USED(block);
    return block;
}

void **first, **second, **list;

NOINLINE static void build(void) {
    void **holders[2];
    for (int number = 0; number < 2; number++)
        holders[number] = make_holder();
    first = holders[0];
    second = holders[1];
    void *shared = make_shared();
    first[0] = shared;
    second[0] = shared;
    void **last = 0;
    for (int number = 0; number < 2; number++) {
        void **next = make_list();
        next[1] = last;
        last = next;
    }
    list = last;
    void *listed = make_listed();
    list[0] = listed;
    ((void **)list[1])[0] = listed;
    holders[0] = holders[1] = 0;
    USED(holders);
}

NOINLINE static void wipe(int depth) {
    volatile char memory[4096];
    memset((void *)memory, 0, sizeof memory);
    if (depth > 0)
        wipe(depth - 1);
    USED(memory);
}

int main(void) {
    build();
    wipe(20);
    return 0;
}
