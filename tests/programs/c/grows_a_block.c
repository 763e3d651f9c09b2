// Grows a block from 1,000 to 33,000 bytes in 32 equal steps.
#include <stdlib.h>

__attribute__((noinline)) static void *grow(void *block, size_t size) {
    return realloc(block, size);
}

int main(void) {
    void *volatile block = malloc(1000);
    for (size_t step = 1; step <= 32; step++)
        block = grow(block, 1000 + step * 1000);
    free(block);
    return 0;
}
