// Holds most while realloc copies a block to where there is room for it.
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))
#define USED(block) __asm__ volatile("" ::"r"(block) : "memory")

NOINLINE static void *make(void) {
    void *block = malloc(100000);
    USED(block);
    return block;
}

NOINLINE static void *grow(void *block) {
    block = realloc(block, 120000);
    USED(block);
    return block;
}

int main(void) {
    void *block = make();
    void *barrier = malloc(100);
    USED(barrier);
    block = grow(block);
    free(block);
    free(barrier);
    return 0;
}
