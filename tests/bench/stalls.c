/* How long the machine itself stands still: a thread of the highest priority on each processor wakes up once a millisecond and
 * does nothing. What it comes late is time that nobody had, as under a hypervisor which has others to serve.
 *
 *     stalls STEPS
 *
 * STEPS is that of pauses.py. At the end of its input a line for each word says the longest delay in that step, in milliseconds.
 * Fails where it may not have that priority. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PERIOD 1000000L
/* A quarter of an hour of delays on one processor. */
#define MOST 1000000

struct delay { double begin, length; };
struct watch { struct delay *delays; size_t count; };

static volatile int is_over;

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void *watch(void *argument) {
    struct watch *watch = argument;
    double due = now(CLOCK_MONOTONIC);
    while (!is_over) {
        struct timespec period = {0, PERIOD};
        due += PERIOD / 1e9;
        clock_nanosleep(CLOCK_MONOTONIC, 0, &period, NULL);
        double late = now(CLOCK_MONOTONIC) - due;
        due += late;
        if (watch->count < MOST)
            watch->delays[watch->count++] = (struct delay){now(CLOCK_REALTIME) - late, late};
    }
    return NULL;
}

int main(int count, char **arguments) {
    int processors = sysconf(_SC_NPROCESSORS_CONF), threads = 0;
    pthread_t ids[CPU_SETSIZE];
    struct watch watches[CPU_SETSIZE];
    if (count != 2)
        return 2;
    for (int processor = 0; processor < processors && processor < CPU_SETSIZE; processor++) {
        pthread_attr_t attributes;
        struct sched_param priority = {sched_get_priority_max(SCHED_FIFO)};
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(processor, &set);
        pthread_attr_init(&attributes);
        pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
        pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
        pthread_attr_setschedparam(&attributes, &priority);
        pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
        watches[threads] = (struct watch){calloc(MOST, sizeof(struct delay)), 0};
        int error = pthread_create(&ids[threads], &attributes, watch, &watches[threads]);
        if (error == 0)
            threads++;
        else if (error != EINVAL) /* an offline one */
            return fprintf(stderr, "stalls: %s\n", strerror(error)), 1;
    }
    while (getchar() != EOF)
        ;
    is_over = 1;
    for (int thread = 0; thread < threads; thread++)
        pthread_join(ids[thread], NULL);
    FILE *steps = fopen(arguments[1], "r");
    double begin, next;
    char name[64], following[64];
    int more = steps && fscanf(steps, "%lf %63s", &begin, name) == 2;
    while (more) {
        double longest = 0;
        more = fscanf(steps, "%lf %63s", &next, following) == 2;
        for (int thread = 0; thread < threads; thread++)
            for (size_t at = 0; at < watches[thread].count; at++) {
                struct delay delay = watches[thread].delays[at];
                if (delay.begin >= begin && (!more || delay.begin < next) && delay.length > longest)
                    longest = delay.length;
            }
        printf("%s %.2f\n", name, longest * 1000);
        begin = next;
        strcpy(name, following);
    }
    return 0;
}
