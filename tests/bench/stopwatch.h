/* What the programs here have in common: each measures its own loop, in rounds, and prints how long an allocation took.
 *
 *     PROGRAM DEPTH PAIRS ROUNDS          frames below the loop, allocations in a round
 *
 *     malloc 14.21 14.93                  CPU ns of an allocation: least and median of the rounds
 *     free 5.98 6.20                      of a free
 *     pair 20.19 21.13                    of both
 *     wall 20.30 22.48                    of both, by the clock on the wall
 *     pairs 1000000                       in all rounds
 *     memory 5120                         most KiB that were resident
 *
 * A program that cannot tell allocations from frees leaves the first two lines out. BENCH_CPU in the environment is
 * the processor to stay on.
 */
#ifndef STOPWATCH_H
#define STOPWATCH_H
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { MALLOC, FREE, PAIR, WALL, PHASES };
enum { MAX_ROUNDS = 1000, MAX_FRAMES = 4096 };

struct stopwatch {
    int depth, rounds, round;
    long pairs; /* in a round */
    double spent[PHASES][MAX_ROUNDS];
    double last_lap, round_began, round_began_wall;
};

/* Keeps a value, and the memory it may point to, from being optimized away. */
#define KEEP(value) __asm__ volatile("" ::"r"(value) : "memory")

static inline double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static inline void stay_on_processor(void) {
    const char *processor = getenv("BENCH_CPU");
    if (!processor) return;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(atoi(processor), &only);
    if (sched_setaffinity(0, sizeof only, &only)) perror("BENCH_CPU"), exit(2);
}

static inline void prepare(struct stopwatch *watch, int argc, char **argv) {
    if (argc != 4) fprintf(stderr, "usage: %s DEPTH PAIRS ROUNDS\n", argv[0]), exit(2);
    watch->depth = atoi(argv[1]);
    watch->pairs = atol(argv[2]);
    watch->rounds = atoi(argv[3]);
    if (watch->depth < 0 || watch->depth > MAX_FRAMES) fprintf(stderr, "0 to %d frames\n", MAX_FRAMES), exit(2);
    if (watch->rounds < 1 || watch->rounds > MAX_ROUNDS) fprintf(stderr, "1 to %d rounds\n", MAX_ROUNDS), exit(2);
    stay_on_processor();
}

static inline void begin_round(struct stopwatch *watch) {
    watch->round_began_wall = now(CLOCK_MONOTONIC);
    watch->round_began = watch->last_lap = now(CLOCK_PROCESS_CPUTIME_ID);
}

/* Adds the time since the last lap to a phase, MALLOC or FREE. */
static inline void lap(struct stopwatch *watch, int phase) {
    double time = now(CLOCK_PROCESS_CPUTIME_ID);
    watch->spent[phase][watch->round] += time - watch->last_lap;
    watch->last_lap = time;
}

static inline void end_round(struct stopwatch *watch) {
    watch->spent[PAIR][watch->round] = now(CLOCK_PROCESS_CPUTIME_ID) - watch->round_began;
    watch->spent[WALL][watch->round] = now(CLOCK_MONOTONIC) - watch->round_began_wall;
    watch->round++;
}

static inline int by_value(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

static inline void report(struct stopwatch *watch) {
    static const char *const names[PHASES] = {"malloc", "free", "pair", "wall"};
    for (int phase = 0; phase < PHASES; phase++) {
        double *spent = watch->spent[phase];
        if (spent[0] == 0) continue;
        qsort(spent, (size_t)watch->rounds, sizeof *spent, by_value);
        double pairs = (double)watch->pairs;
        printf("%s %.2f %.2f\n", names[phase], spent[0] / pairs, spent[watch->rounds / 2] / pairs);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("pairs %ld\nmemory %ld\n", watch->pairs * watch->rounds, usage.ru_maxrss);
}
#endif
