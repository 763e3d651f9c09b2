// Allocates blocks of many sizes around whole pages and prints how many bytes more than it asked for it could use.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

static void *blocks[3000];

int main(void) {
    size_t slack = 0;
    for (size_t number = 0; number < 3000; number++) {
        size_t size = number < 2000 ? number * 37 % 5000 : number * 7919 % 400000;
        blocks[number] = malloc(size);
        slack += malloc_usable_size(blocks[number]) - size;
    }
    fprintf(stderr, "%zu", slack);
    return 0;
}
