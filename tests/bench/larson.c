/* A server as Larson and Krishnan model it ("Memory allocation for long-running server applications", ISMM 1998): each of THREADS threads
 * owns some blocks, and time and again frees a random one and allocates another in its place. After ROUND of them it ends and leaves its
 * blocks to a new thread, so much is freed by others than have allocated it.
 *
 *     larson THREADS GENERATIONS      so many threads at a time, and so many one after the other */
#include "random.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 64, BLOCKS = 1000, ROUND = 10000, SMALLEST = 10, LARGEST = 500 };

struct worker {
    uint64_t state;
    void *blocks[BLOCKS];
};
static struct worker workers[MOST];

static uint64_t random_below(struct worker *worker, uint64_t end) { return (next_random(&worker->state) >> 20) % end; }

static void *new_block(struct worker *worker) {
    char *block = malloc(SMALLEST + random_below(worker, LARGEST - SMALLEST));
    if (!block) perror("malloc"), exit(2);
    *block = 1;
    return block;
}

static void *serve(void *argument) {
    struct worker *worker = argument;
    for (int turn = 0; turn < ROUND; turn++) {
        void **block = &worker->blocks[random_below(worker, BLOCKS)];
        free(*block);
        *block = new_block(worker);
    }
    return NULL;
}

int main(int count, char **arguments) {
    int threads = count == 3 ? atoi(arguments[1]) : 0, generations = count == 3 ? atoi(arguments[2]) : 0;
    if (threads < 1 || threads > MOST || generations < 1) fprintf(stderr, "usage: larson THREADS GENERATIONS\n"), exit(2);
    for (int i = 0; i < threads; i++) {
        workers[i].state = SEED + (uint64_t)i;
        for (int block = 0; block < BLOCKS; block++) workers[i].blocks[block] = new_block(&workers[i]);
    }
    for (int generation = 0; generation < generations; generation++) {
        pthread_t ids[MOST];
        for (int i = 0; i < threads; i++)
            if (pthread_create(&ids[i], NULL, serve, &workers[i])) perror("pthread_create"), exit(2);
        for (int i = 0; i < threads; i++) pthread_join(ids[i], NULL);
    }
}
