/* Allocates in every node of random trees of calls, whose nodes are functions: from one allocation to the next a few
 * frames differ. The trees are the same again after eight batches, so there are some thousand stacks; where it is built
 * with NEVER_AGAIN they never are, and most allocations have a stack that no other one has. */
#include "blocks.h"
struct path;
static inline void visit(struct path *path, int level);
#define BODY visit
#include "frames.h"

#ifdef NEVER_AGAIN
enum { HEIGHT = 16, BATCHES = 1 << 30 };
#else
enum { HEIGHT = 16, BATCHES = 8 };
#endif
static struct blocks blocks;
static uint64_t state;

/* A node: above the base, one allocation, then none to three further nodes. The mean node is about HEIGHT - 2 above, since trees are
 * widest there. */
static inline void visit(struct path *path, int level) {
    if (level < path->depth) return descend(path, level);
    allocate_one(&blocks);
    if (level == path->depth + HEIGHT) return;
    for (uint64_t left = (next_random(&state) >> 20) % 4; left && blocks.count < BATCH; left--)
        random_frame(&state)(path, level + 1);
}

static void fill(void *path) {
    static int batch;
    if (batch++ % BATCHES == 0) state = SEED;
    while (blocks.count < BATCH) descend(path, 0);
}

int main(int argc, char **argv) {
    static struct stopwatch watch;
    prepare(&watch, argc, argv);
    static frame *functions[MAX_FRAMES];
    uint64_t base_state = SEED;
    int depth = watch.depth > HEIGHT - 2 ? watch.depth - HEIGHT + 2 : 0;
    choose_functions(functions, depth + 1, &base_state);
    struct path path = {functions, depth, NULL, NULL};
    measure_batches(&watch, &blocks, fill, &path);
}
