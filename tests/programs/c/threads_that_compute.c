/* Two threads with names of their own that compute for so many milliseconds of processor time each, and allocate nothing. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static long milliseconds;
static volatile unsigned long result;

__attribute__((noinline)) static void compute(void)
{
    struct timespec time;
    do {
        for (int turn = 0; turn < 10000; turn++)
            result += turn;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    } while (time.tv_sec * 1000 + time.tv_nsec / 1000000 < milliseconds);
}

static void *run(void *name)
{
    pthread_setname_np(pthread_self(), name);
    compute();
    return NULL;
}

int main(int count, char **arguments)
{
    static char names[2][8] = {"first", "second"};
    pthread_t threads[2];

    milliseconds = count > 1 ? atol(arguments[1]) : 100;
    for (int thread = 0; thread < 2; thread++)
        pthread_create(&threads[thread], NULL, run, names[thread]);
    for (int thread = 0; thread < 2; thread++)
        pthread_join(threads[thread], NULL);
    return 0;
}
