/* Allocates many blocks in one function, then frees them: the same stack for all. */
#include "blocks.h"
#include "frames.h"

static struct blocks blocks;

static void leaf(struct path *path) {
    (void)path;
    while (blocks.count < BATCH) allocate_one(&blocks);
}

static void fill(void *path) { descend(path, 0); }

int main(int argc, char **argv) {
    static struct stopwatch watch;
    prepare(&watch, argc, argv);
    static frame *functions[MAX_FRAMES];
    uint64_t state = SEED;
    choose_functions(functions, watch.depth, &state);
    struct path path = {functions, watch.depth, leaf, NULL};
    measure_batches(&watch, &blocks, fill, &path);
}
