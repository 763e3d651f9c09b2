/* The functions behind a preloaded library that only looks at them. */
#ifndef FORWARD_H
#define FORWARD_H
#include <dlfcn.h>
#include <stddef.h>

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void (*next_free)(void *);

/* Finds a function once. The loader allocates before it runs constructors, when there is one thread only, so each
 * function looks for the next itself. */
#define NEXT(name)                                                                                                     \
    ({                                                                                                                 \
        if (__builtin_expect(!next_##name, 0)) next_##name = (__typeof__(next_##name))dlsym(RTLD_NEXT, #name);         \
        next_##name;                                                                                                   \
    })
#endif
