// Asks for products that overflow, by each function that multiplies, and for none with a block that stays.
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

int main(void) {
    volatile size_t many = (size_t)1 << 40, each = (size_t)3 << 30;
    void *block = malloc(1000);
    if (calloc(many, each) != 0 || errno != ENOMEM)
        return 1;
    errno = 0;
    if (reallocarray(block, each, many) != 0 || errno != ENOMEM)
        return 2;
    if (reallocarray(0, SIZE_MAX, 2) != 0)
        return 3;
    free(block);
    return 0;
}
