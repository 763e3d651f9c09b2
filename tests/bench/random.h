#ifndef RANDOM_H
#define RANDOM_H
#include <stdint.h>

/* Marsaglia's xorshift: the same numbers in every run. */
#define SEED 88172645463325252u
static inline uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}
#endif
