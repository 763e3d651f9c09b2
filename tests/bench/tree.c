/* Allocates in every node of random trees of calls: from one allocation to the next a few frames differ. The trees are
 * the same again after eight batches, so there are some thousand stacks. */
#include "blocks.h"
#include "frames.h"

enum { HEIGHT = 8, BATCHES = 8 };
static struct blocks blocks;
static uint64_t state;

/* A node: one allocation, then none to three further nodes, each behind a function of its own. With two frames for each
 * level the mean node is about HEIGHT frames above the base. */
static void node(struct path *path) {
    int height = path->context ? *(int *)path->context : 0;
    allocate_one(&blocks);
    if (height == HEIGHT) return;
    int next_height = height + 1;
    for (uint64_t left = (next_random(&state) >> 20) % 4; left && blocks.count < BATCH; left--) {
        frame *function = random_frame(&state);
        struct path next = {&function, 1, node, &next_height};
        descend(&next, 0);
    }
}

static void leaf(struct path *path) {
    while (blocks.count < BATCH) {
        struct path root = *path;
        root.context = NULL;
        node(&root);
    }
}

static void fill(void *path) {
    static int batch;
    if (batch++ % BATCHES == 0) state = SEED;
    descend(path, 0);
}

int main(int argc, char **argv) {
    static struct stopwatch watch;
    prepare(&watch, argc, argv);
    static frame *functions[MAX_FRAMES];
    uint64_t base_state = SEED;
    int depth = watch.depth > HEIGHT ? watch.depth - HEIGHT : 0;
    choose_functions(functions, depth, &base_state);
    struct path path = {functions, depth, leaf, NULL};
    measure_batches(&watch, &blocks, fill, &path);
}
