/* Holds 200,000 blocks, and for each that it allocates frees one at random: neither a block nor what is known of its
 * address is in a near cache. */
#include "one_leaf.h"

enum { HELD = 200000 };

static void *held[HELD];

static void leaf(struct path *path) {
    struct stopwatch *watch = path->context;
    uint64_t state = SEED;
    for (int round = -1; round < watch->rounds; round++) {
        if (round >= 0) begin_round(watch);
        for (long pair = 0; pair < (round < 0 ? HELD : watch->pairs); pair++) {
            uint64_t random = next_random(&state);
            void **place = round < 0 ? &held[pair] : &held[random % HELD];
            free(*place);
            *place = malloc(16 + (random >> 32) % 97);
            KEEP(*place);
        }
        if (round >= 0) end_round(watch);
    }
}

int main(int argc, char **argv) { measure_leaf(argc, argv, leaf); }
