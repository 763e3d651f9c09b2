// Exports an allocator whose malloc has more than a hundred kilobytes of code, as those that are not optimized may.
#include <stddef.h>
#include <string.h>

static char pool[1 << 22] __attribute__((aligned(64)));
static size_t used;
static volatile int never;
static void *volatile block;

#define ONE if (never) { volatile int step = 1; never += step * 3; }
#define TEN(what) what what what what what what what what what what

void *malloc(size_t size) {
    TEN(TEN(TEN(ONE ONE)))
    size_t at = used;
    used += (size + 31) & ~(size_t)15;
    *(size_t *)(pool + at) = size;
    return pool + at + 16;
}

void free(void *old) { block = old; }

void *calloc(size_t count, size_t size) { return malloc(count * size); }

void *realloc(void *old, size_t size) {
    void *fresh = malloc(size);
    size_t before = old ? ((size_t *)old)[-2] : 0;
    return memcpy(fresh, old ? old : fresh, before < size ? before : size);
}

int main(void) {
    for (int i = 0; i < 100; i++) {
        block = malloc(1001);
        free(block);
    }
    return 0;
}
