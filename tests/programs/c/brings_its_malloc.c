/* A library with an allocator of its own, which it uses itself. */
#include <stddef.h>

static _Alignas(16) char pool[1 << 16];
static size_t used;
static void *volatile block;

void *malloc(size_t size) {
    void *fresh = pool + used;
    used += (size + 15) & ~(size_t)15;
    return fresh;
}

void free(void *old) { block = old; }

void work(void) {
    block = malloc(2801);
    free(block);
}
