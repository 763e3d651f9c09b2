/* Stacks as compilers make them: 64 functions without frame pointers, whose frames differ in size, in the registers
 * they save, and, in four of them, in being dynamic, so that their tables go by rbp.
 *
 *     main ─► functions[0] ─► functions[1] ─► … ─► functions[depth - 1] ─► leaf(path)
 */
#ifndef FRAMES_H
#define FRAMES_H
#include "random.h"
#include <stddef.h>
#include <stdint.h>

struct path;
typedef void frame(struct path *path, int level);

struct path {
    frame *const *functions; /* outermost first */
    int depth;
    void (*leaf)(struct path *path);
    void *context; /* for the leaf */
};

static inline void descend(struct path *path, int level) {
    if (level == path->depth)
        path->leaf(path);
    else
        path->functions[level](path, level + 1);
}

/* What a function does in its frame. */
#ifndef BODY
#define BODY descend
#endif

/* A value that the compiler cannot compute again after a call, so it holds it in a register that must be saved. */
static inline long opaque(long value) {
    __asm__ volatile("" : "+r"(value));
    return value;
}

#define LOOK_AT(room) __asm__ volatile("" ::"r"(room) : "memory")

/* A frame of 24 to 200 bytes and one to four saved registers; the number is octal. Its room is looked at behind the
 * call, so that it stays one. */
#define FRAME(number)                                                                                                  \
    static __attribute__((noinline)) void frame_##number(struct path *path, int level) {                               \
        char room[24 + 8 * (0##number * 7 % 23)];                                                                      \
        long first = opaque(level), second = 0, third = 0;                                                             \
        if (0##number & 1) second = opaque(first);                                                                     \
        if (0##number & 2) third = opaque(second);                                                                     \
        BODY(path, level);                                                                                             \
        LOOK_AT(room);                                                                                                 \
        opaque(first + second + third);                                                                                \
    }
/* The same with a frame whose size is known only when it runs. */
#define DYNAMIC_FRAME(number)                                                                                          \
    static __attribute__((noinline)) void frame_##number(struct path *path, int level) {                               \
        char *room = (char *)__builtin_alloca((size_t)(16 + level % 4 * 16));                                          \
        BODY(path, level);                                                                                             \
        LOOK_AT(room);                                                                                                 \
    }
#define SIXTEEN(kind_of_5, a, b)                                                                                       \
    FRAME(a##0) FRAME(a##1) FRAME(a##2) FRAME(a##3) FRAME(a##4) kind_of_5(a##5) FRAME(a##6) FRAME(a##7) FRAME(b##0)    \
        FRAME(b##1) FRAME(b##2) FRAME(b##3) FRAME(b##4) FRAME(b##5) FRAME(b##6) FRAME(b##7)
SIXTEEN(DYNAMIC_FRAME, 0, 1)
SIXTEEN(DYNAMIC_FRAME, 2, 3)
SIXTEEN(DYNAMIC_FRAME, 4, 5)
SIXTEEN(DYNAMIC_FRAME, 6, 7)

#define EIGHT(a)                                                                                                       \
    frame_##a##0, frame_##a##1, frame_##a##2, frame_##a##3, frame_##a##4, frame_##a##5, frame_##a##6, frame_##a##7
enum { FRAMES = 64 };
static frame *const frames[FRAMES] = {EIGHT(0), EIGHT(1), EIGHT(2), EIGHT(3), EIGHT(4), EIGHT(5), EIGHT(6), EIGHT(7)};

static inline frame *random_frame(uint64_t *state) { return frames[(next_random(state) >> 20) % FRAMES]; }

static inline void choose_functions(frame **functions, int count, uint64_t *state) {
    for (int i = 0; i < count; i++) functions[i] = random_frame(state);
}
#endif
