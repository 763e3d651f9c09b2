/* So many threads, one after the other, each of which computes for so many microseconds of processor time. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static long microseconds;
static volatile unsigned long result;

static void *run(void *unused)
{
    struct timespec time;
    (void)unused;
    do {
        for (int turn = 0; turn < 1000; turn++)
            result += turn;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    } while (time.tv_sec * 1000000 + time.tv_nsec / 1000 < microseconds);
    return NULL;
}

int main(int count, char **arguments)
{
    long threads = count > 1 ? atol(arguments[1]) : 1;

    microseconds = count > 2 ? atol(arguments[2]) : 100;
    for (long made = 0; made < threads; made++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, run, NULL) != 0)
            return 1;
        pthread_join(thread, NULL);
    }
    return 0;
}
