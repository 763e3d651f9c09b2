// A library for Python: overwrites words of the interpreter's memory, allocates, and puts them back, so that only who
// reads them meanwhile sees it.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// Overwrites one word after another from `start` on with each of `values`, and allocates a block of `size` bytes each
// time.
void scribble(uint64_t *start, size_t words, const uint64_t *values, size_t count, size_t size) {
    for (size_t word = 0; word < words; word++) {
        volatile uint64_t *place = start + word;
        uint64_t before = *place;
        for (size_t value = 0; value < count; value++) {
            *place = values[value];
            void *volatile block = malloc(size);
            *place = before;
            free(block);
        }
    }
}
