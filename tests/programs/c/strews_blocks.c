/* Frees what a load has allocated, but not the few blocks of `keep` that lie between: each of them holds a page. */
#include <stdlib.h>

enum { BLOCKS = 40000, EACH = 40, SIZE = 100 };
static void *blocks[BLOCKS];

__attribute__((noinline)) static void *keep(void) {
    return malloc(SIZE);
}

__attribute__((noinline)) static void *load(void) {
    return malloc(SIZE);
}

int main(void) {
    for (int i = 0; i < BLOCKS; i++) blocks[i] = i % EACH ? load() : keep();
    for (int i = 0; i < BLOCKS; i++)
        if (i % EACH) free(blocks[i]);
    return 0;
}
