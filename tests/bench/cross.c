/* One thread allocates, another one frees; batches of blocks go from hand to hand. */
#include "blocks.h"
#include "frames.h"
#include <pthread.h>

enum { SLOTS = 16 };
static struct stopwatch watch;
static frame *functions[MAX_FRAMES];
static struct blocks slots[SLOTS];
static long batches, filled, emptied;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* Waits until there is a slot to fill, or one to empty. */
static struct blocks *await(long *mine, const long *other, long ahead) {
    pthread_mutex_lock(&lock);
    while (*mine - *other >= ahead) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return &slots[*mine % SLOTS];
}

static void pass(long *mine) {
    pthread_mutex_lock(&lock);
    ++*mine;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static void leaf(struct path *path) {
    (void)path;
    for (long batch = 0; batch < batches; batch++) {
        struct blocks *slot = await(&filled, &emptied, SLOTS);
        while (slot->count < BATCH) allocate_one(slot);
        pass(&filled);
    }
}

static void *consume(void *unused) {
    for (long batch = 0; batch < batches; batch++) {
        free_all(await(&emptied, &filled, 0));
        pass(&emptied);
    }
    return unused;
}

int main(int argc, char **argv) {
    prepare(&watch, argc, argv);
    uint64_t state = SEED;
    choose_functions(functions, watch.depth, &state);
    batches = watch.pairs / BATCH;
    watch.pairs = batches * BATCH;
    for (int round = 0; round < watch.rounds; round++) {
        pthread_t consumer;
        struct path path = {functions, watch.depth, leaf, NULL};
        begin_round(&watch);
        if (pthread_create(&consumer, NULL, consume, NULL)) perror("pthread_create"), exit(2);
        descend(&path, 0);
        pthread_join(consumer, NULL);
        end_round(&watch);
    }
    report(&watch);
}
