/* Allocates at 64 places, at random, whose stacks have nothing in common from main on: the worst case for whoever
 * relies on the last stack. */
#include "blocks.h"
#include "frames.h"

enum { PLACES = 64 };
static struct blocks blocks;
static frame *functions[PLACES][MAX_FRAMES];

static void leaf(struct path *path) {
    (void)path;
    allocate_one(&blocks);
}

static void fill(void *context) {
    static uint64_t state = SEED;
    while (blocks.count < BATCH) {
        struct path path = {functions[(next_random(&state) >> 20) % PLACES], *(int *)context, leaf, NULL};
        descend(&path, 0);
    }
}

int main(int argc, char **argv) {
    static struct stopwatch watch;
    prepare(&watch, argc, argv);
    uint64_t state = SEED;
    for (int place = 0; place < PLACES; place++) choose_functions(functions[place], watch.depth, &state);
    measure_batches(&watch, &blocks, fill, &watch.depth);
}
