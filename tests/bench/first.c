// What a thread's first allocation takes: under a recording it is the call that gets the thread its ring.
//
//   first THREADS        one thread after the other; prints the median, the 99th percentile and the most, microseconds

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double took;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static void *begin(void *unused) {
    (void)unused;
    double before = now();
    void *volatile block = malloc(24);
    took = now() - before;
    free(block);
    return NULL;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int count, char **arguments) {
    int threads = count > 1 ? atoi(arguments[1]) : 2000;
    double *all = calloc(threads > 0 ? threads : 1, sizeof *all);
    if (threads < 1 || !all) return 2;
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, begin, NULL) != 0 || pthread_join(thread, NULL) != 0) return 2;
        all[i] = took;
    }
    qsort(all, threads, sizeof *all, by_size);
    printf("median %.1f\np99 %.1f\nmost %.1f\n", all[threads / 2], all[threads * 99 / 100], all[threads - 1]);
    return 0;
}
