// Allocates blocks in some threads and ends them in others, at once: hands_over_at_once WAY BLOCKS SPINNERS. WAY says
// how they are handed over; SPINNERS threads keep processors busy meanwhile. Every block is freed.
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLACES 64
#define PAIRS 2
// So many attempts before a thread lets others run.
#define PATIENCE 500

struct place {
    pthread_mutex_t lock;
    _Atomic(void *) block;
    _Atomic int futex;
    _Atomic unsigned turn;
};

static struct place places[PLACES];
static _Atomic unsigned given, taken;
static int ends_of_pipe[2];
static int blocks_of_each;

// A mutex for each place.
static int give_by_mutex(void *block, unsigned number) {
    struct place *place = &places[number % PLACES];
    pthread_mutex_lock(&place->lock);
    int is_free = !atomic_load_explicit(&place->block, memory_order_relaxed);
    if (is_free)
        atomic_store_explicit(&place->block, block, memory_order_relaxed);
    pthread_mutex_unlock(&place->lock);
    return is_free;
}

static void *take_by_mutex(unsigned number) {
    struct place *place = &places[number % PLACES];
    pthread_mutex_lock(&place->lock);
    void *block = atomic_load_explicit(&place->block, memory_order_relaxed);
    atomic_store_explicit(&place->block, NULL, memory_order_relaxed);
    pthread_mutex_unlock(&place->lock);
    return block;
}

// A compare and exchange for each place.
static int give_by_exchange(void *block, unsigned number) {
    void *nothing = NULL;
    return atomic_compare_exchange_weak(&places[number % PLACES].block, &nothing, block);
}

static void *take_by_exchange(unsigned number) {
    return atomic_exchange(&places[number % PLACES].block, NULL);
}

// Vyukov's queue of several givers and takers: a place's turn says whose it is.
static int give_by_queue(void *block, unsigned number) {
    unsigned at = atomic_load_explicit(&given, memory_order_relaxed);
    struct place *place = &places[at % PLACES];
    if (atomic_load_explicit(&place->turn, memory_order_acquire) != at
        || !atomic_compare_exchange_weak_explicit(&given, &at, at + 1, memory_order_relaxed, memory_order_relaxed))
        return 0;
    atomic_store_explicit(&place->block, block, memory_order_relaxed);
    atomic_store_explicit(&place->turn, at + 1, memory_order_release);
    return 1;
}

static void *take_by_queue(unsigned number) {
    unsigned at = atomic_load_explicit(&taken, memory_order_relaxed);
    struct place *place = &places[at % PLACES];
    if (atomic_load_explicit(&place->turn, memory_order_acquire) != at + 1
        || !atomic_compare_exchange_weak_explicit(&taken, &at, at + 1, memory_order_relaxed, memory_order_relaxed))
        return NULL;
    void *block = atomic_load_explicit(&place->block, memory_order_relaxed);
    atomic_store_explicit(&place->turn, at + PLACES, memory_order_release);
    return block;
}

// A ring of one giver and one taker, with nothing but a load and a store on either side.
static int give_by_ring(void *block, unsigned number) {
    unsigned at = atomic_load_explicit(&given, memory_order_relaxed);
    if (at - atomic_load_explicit(&taken, memory_order_acquire) == PLACES)
        return 0;
    atomic_store_explicit(&places[at % PLACES].block, block, memory_order_relaxed);
    atomic_store_explicit(&given, at + 1, memory_order_release);
    return 1;
}

static void *take_by_ring(unsigned number) {
    unsigned at = atomic_load_explicit(&taken, memory_order_relaxed);
    if (at == atomic_load_explicit(&given, memory_order_acquire))
        return NULL;
    void *block = atomic_load_explicit(&places[at % PLACES].block, memory_order_relaxed);
    atomic_store_explicit(&taken, at + 1, memory_order_release);
    return block;
}

// A place, and a futex on which its taker sleeps.
static int give_by_futex(void *block, unsigned number) {
    if (!give_by_exchange(block, number))
        return 0;
    struct place *place = &places[number % PLACES];
    if (atomic_exchange(&place->futex, 0))
        syscall(SYS_futex, &place->futex, FUTEX_WAKE_PRIVATE, PAIRS, NULL, NULL, 0);
    return 1;
}

static void *take_by_futex(unsigned number) {
    struct place *place = &places[number % PLACES];
    atomic_store(&place->futex, 1);
    void *block = take_by_exchange(number);
    if (!block) {
        struct timespec short_time = {.tv_nsec = 1000000};
        syscall(SYS_futex, &place->futex, FUTEX_WAIT_PRIVATE, 1, &short_time, NULL, 0);
    }
    return block;
}

// A single place, with nothing but a load and a store on either side: each block is freed the moment it exists.
static int has_place(unsigned number) {
    return !atomic_load_explicit(&places[0].block, memory_order_acquire);
}

static int give_by_place(void *block, unsigned number) {
    atomic_store_explicit(&places[0].block, block, memory_order_release);
    return 1;
}

static void *take_by_place(unsigned number) {
    void *block = atomic_load_explicit(&places[0].block, memory_order_acquire);
    if (block)
        atomic_store_explicit(&places[0].block, NULL, memory_order_release);
    return block;
}

// A pipe: addresses are written and read.
static int give_by_pipe(void *block, unsigned number) {
    return write(ends_of_pipe[1], &block, sizeof(block)) == sizeof(block);
}

static void *take_by_pipe(unsigned number) {
    void *block;
    return read(ends_of_pipe[0], &block, sizeof(block)) == sizeof(block) ? block : NULL;
}

static int has_any(unsigned number) {
    return 1;
}

static const struct way {
    const char *name;
    int pairs;
    // Waited for before a block is allocated.
    int (*has_room)(unsigned);
    int (*give)(void *, unsigned);
    void *(*take)(unsigned);
} ways[] = {
    {"mutex", PAIRS, has_any, give_by_mutex, take_by_mutex},
    {"exchange", PAIRS, has_any, give_by_exchange, take_by_exchange},
    {"queue", PAIRS, has_any, give_by_queue, take_by_queue},
    {"ring", 1, has_any, give_by_ring, take_by_ring},
    {"place", 1, has_place, give_by_place, take_by_place},
    {"futex", PAIRS, has_any, give_by_futex, take_by_futex},
    {"pipe", PAIRS, has_any, give_by_pipe, take_by_pipe},
};
static const struct way *way;

static void *make(void *unused) {
    for (int number = 0; number < blocks_of_each; number++) {
        for (int tries = 1; !way->has_room(number); tries++)
            if (tries % PATIENCE == 0)
                sched_yield();
        void *block = malloc(16 + number % 100);
        for (int tries = 1; !way->give(block, number); tries++)
            if (tries % PATIENCE == 0)
                sched_yield();
    }
    return unused;
}

static void *end(void *unused) {
    for (int number = 0; number < blocks_of_each; number++) {
        void *block;
        for (int tries = 1; !(block = way->take(number)); tries++)
            if (tries % PATIENCE == 0)
                sched_yield();
        // Every fourth in two steps.
        free(number % 4 ? block : realloc(block, 200));
    }
    return unused;
}

static void *spin(void *unused) {
    for (volatile unsigned long turns = 0;; turns++)
        ;
    return unused;
}

int main(int count, char **arguments) {
    pthread_t threads[2 * PAIRS], spinner;
    if (count != 4 || pipe(ends_of_pipe) != 0)
        return 2;
    for (int number = 0; number < (int)(sizeof(ways) / sizeof(ways[0])); number++)
        if (strcmp(ways[number].name, arguments[1]) == 0)
            way = &ways[number];
    if (!way)
        return 2;
    blocks_of_each = atoi(arguments[2]) / way->pairs;
    for (int number = 0; number < PLACES; number++) {
        pthread_mutex_init(&places[number].lock, NULL);
        atomic_store(&places[number].turn, number);
    }
    for (int number = 0; number < atoi(arguments[3]); number++)
        pthread_create(&spinner, NULL, spin, NULL);
    for (int number = 0; number < way->pairs; number++) {
        pthread_create(&threads[2 * number], NULL, make, NULL);
        pthread_create(&threads[2 * number + 1], NULL, end, NULL);
    }
    for (int number = 0; number < 2 * way->pairs; number++)
        pthread_join(threads[number], NULL);
    return 0;
}
