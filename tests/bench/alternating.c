/* Allocates at 64 places in turn, each five functions away from where all meet: four and the one that allocates. */
#include "blocks.h"
#include "frames.h"

enum { PLACES = 64, OWN = 4 };
static struct blocks blocks;
static frame *own[PLACES][OWN];

static void allocate(struct path *path) {
    (void)path;
    allocate_one(&blocks);
}

static void leaf(struct path *base) {
    (void)base;
    for (int place = 0; blocks.count < BATCH; place = (place + 1) % PLACES) {
        struct path path = {own[place], OWN, allocate, NULL};
        descend(&path, 0);
    }
}

static void fill(void *path) { descend(path, 0); }

int main(int argc, char **argv) {
    static struct stopwatch watch;
    prepare(&watch, argc, argv);
    static frame *functions[MAX_FRAMES];
    uint64_t state = SEED;
    int depth = watch.depth > OWN + 1 ? watch.depth - OWN - 1 : 0;
    choose_functions(functions, depth, &state);
    choose_functions(own[0], PLACES * OWN, &state);
    struct path path = {functions, depth, leaf, NULL};
    measure_batches(&watch, &blocks, fill, &path);
}
