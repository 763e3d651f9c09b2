/* A program whose whole loop is in one function below its frames. */
#ifndef ONE_LEAF_H
#define ONE_LEAF_H
#include "frames.h"
#include "stopwatch.h"

/* Runs the rounds that `leaf` begins and ends, by the stopwatch that its path has for a context. */
static inline void measure_leaf(int argc, char **argv, void (*leaf)(struct path *path)) {
    static struct stopwatch watch;
    prepare(&watch, argc, argv);
    static frame *functions[MAX_FRAMES];
    uint64_t state = SEED;
    choose_functions(functions, watch.depth, &state);
    struct path path = {functions, watch.depth, leaf, &watch};
    descend(&path, 0);
    report(&watch);
}
#endif
