/* BENCH_THREADS threads, two unless it says otherwise, that do nothing but allocate and free: more than a collector
 * can follow. */
#include "frames.h"
#include "stopwatch.h"
#include <pthread.h>

static struct stopwatch watch;
static frame *functions[MAX_FRAMES];
static long pairs_each;

static void leaf(struct path *path) {
    (void)path;
    for (long pair = 0; pair < pairs_each; pair++) {
        void *block = malloc(32);
        KEEP(block);
        free(block);
    }
}

static void *allocate(void *unused) {
    struct path path = {functions, watch.depth, leaf, NULL};
    descend(&path, 0);
    return unused;
}

int main(int argc, char **argv) {
    prepare(&watch, argc, argv);
    uint64_t state = SEED;
    choose_functions(functions, watch.depth, &state);
    const char *wanted = getenv("BENCH_THREADS");
    int count = wanted ? atoi(wanted) : 2;
    if (count < 1 || count > 1024) fprintf(stderr, "1 to 1024 threads\n"), exit(2);
    pthread_t threads[1024];
    pairs_each = watch.pairs / count;
    watch.pairs = pairs_each * count;
    for (int round = 0; round < watch.rounds; round++) {
        begin_round(&watch);
        for (int i = 0; i < count; i++)
            if (pthread_create(&threads[i], NULL, allocate, NULL)) perror("pthread_create"), exit(2);
        for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
        end_round(&watch);
    }
    report(&watch);
}
