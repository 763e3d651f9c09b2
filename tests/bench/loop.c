/* Allocates and frees one block again and again in one function: the stack is always the same. */
#include "frames.h"
#include "stopwatch.h"

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

int main(int argc, char **argv) {
    static struct stopwatch watch;
    prepare(&watch, argc, argv);
    static frame *functions[MAX_FRAMES];
    uint64_t state = SEED;
    choose_functions(functions, watch.depth, &state);
    struct path path = {functions, watch.depth, leaf, &watch};
    descend(&path, 0);
    report(&watch);
}
