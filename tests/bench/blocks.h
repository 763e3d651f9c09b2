/* Blocks that are allocated in some way, a batch at a time, and then freed in another lap, so that the cost of an
 * allocation and that of a free can be told apart. A batch is long enough to make reading the clock cost nothing, and
 * short enough to stay in the second cache. */
#ifndef BLOCKS_H
#define BLOCKS_H
#include "stopwatch.h"

enum { BATCH = 1024, BLOCK = 32 };

struct blocks {
    void *held[BATCH];
    int count;
};

static inline void allocate_one(struct blocks *blocks) { blocks->held[blocks->count++] = malloc(BLOCK); }

static inline void free_all(struct blocks *blocks) {
    while (blocks->count) free(blocks->held[--blocks->count]);
}

/* Measures batches that `fill` allocates. */
static inline void measure_batches(struct stopwatch *watch, struct blocks *blocks, void (*fill)(void *context),
                                   void *context) {
    long batches = watch->pairs / BATCH;
    watch->pairs = batches * BATCH;
    for (int round = 0; round < watch->rounds; round++) {
        begin_round(watch);
        for (long batch = 0; batch < batches; batch++) {
            fill(context);
            lap(watch, MALLOC);
            free_all(blocks);
            lap(watch, FREE);
        }
        end_round(watch);
    }
    report(watch);
}
#endif
