/* Allocates and frees one block again and again in one function: the stack is always the same. */
#include "one_leaf.h"

static void leaf(struct path *path) {
    struct stopwatch *watch = path->context;
    for (int round = 0; round < watch->rounds; round++) {
        begin_round(watch);
        for (long pair = 0; pair < watch->pairs; pair++) {
            void *block = malloc(32);
            KEEP(block);
            free(block);
        }
        end_round(watch);
    }
}

int main(int argc, char **argv) { measure_leaf(argc, argv, leaf); }
