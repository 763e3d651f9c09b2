/*
 * sysprof_memprof.h: what a program can report to the memory profiler sysprof-memprof.
 *
 * A program that includes this header needs no library. While sysprof-memprof records the program, the calls below
 * reach the agent; otherwise each of them tests a pointer and does nothing. So they may stay in released programs.
 *
 * All functions may be called from any thread, at any time, also from signal handlers. They allocate nothing, take no
 * lock and preserve errno. Like any allocation, they may wait for room in the thread's ring, if the recording asks
 * for that.
 *
 * Names are strings of any bytes, of which the first 255 count. They are shown as UTF-8.
 *
 * It compiles as C from C89 on and as C++, with GCC and Clang on ELF systems. Elsewhere, and in statically linked
 * programs, the calls do nothing. Define SYSPROF_MEMPROF_DISABLE before the inclusion to leave them out.
 */
#ifndef SYSPROF_MEMPROF_H
#define SYSPROF_MEMPROF_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A heap of the program's own; 0 is none. */
typedef unsigned int memprof_pool_t;

/*
 * Recording. With `sysprof-memprof run --paused`, nothing is recorded at first. start and stop switch the recording
 * of the whole process on and off; they do not nest. While it is off, allocations cost as little as without a
 * recording. Blocks allocated then are unknown to the recording; blocks that were live at a stop and are not freed
 * after the next start are shown as uncertain, not as leaked. Marks are always recorded.
 */
void memprof_start(void);
void memprof_stop(void);

/*
 * Marks: names for moments, and for regions from a beginning to an end. Regions may overlap, repeat, and end in
 * another thread than they began in.
 */
void memprof_mark(const char *name);
void memprof_mark_begin(const char *name);
void memprof_mark_end(const char *name);

/*
 * Pools: arenas, caches, slabs and other heaps that the program builds in memory from elsewhere. Each has a name, and
 * totals of its own, apart from those of malloc.
 *
 * memprof_pool returns the number of the pool of this name, the same each time. Keep it, since looking it up compares
 * names. A process has at most 64 pools; beyond that it returns 0, and reports for pool 0 are counted as lost.
 *
 * Order matters when threads share a pool: call report_alloc after the block was taken from the pool, and report_free
 * before it is given back. Call report_realloc after a block was resized or moved; if another thread may get the old
 * place before that, use report_free and report_alloc, or call it under the pool's lock. A block is identified by its
 * address, which may be any number but 0 that distinguishes the blocks of the pool. Reports of null are ignored,
 * except that a null `old` reports a new block. Reports are recorded in full, even with --sample.
 */
memprof_pool_t memprof_pool(const char *name);
void memprof_report_alloc(memprof_pool_t pool, const void *block, size_t size);
void memprof_report_realloc(memprof_pool_t pool, const void *old, const void *block, size_t size);
void memprof_report_free(memprof_pool_t pool, const void *block);

/*
 * Stacks of an interpreter. The agent walks native frames; in an interpreted program it sees only an interpreter that
 * calls itself. A stack provider reports what the interpreter is running, and its frames are recorded among the
 * native ones.
 *
 * memprof_function returns the number of the function of this name in this file, the same each time. Looking it up
 * compares names, so it is best kept beside the function's code. `file` may be null. A process has at most 65,536
 * functions; beyond that it returns 0, and frames of function 0 are left out.
 *
 * memprof_set_stack_provider has `provider` called for each stack that is recorded from now on, and returns the
 * previous provider, null if there was none; a null `provider` removes it. A provider that knows only part of the
 * frames may call the previous one. Another thread may still be running the previous one when this returns.
 *
 * The provider fills in the frames of the calling thread, innermost first, as many as there is room for, and returns
 * the number of frames that there are. `place` is an address within the native frame that runs this frame, such as
 * that of a local variable of the evaluating function; several frames may have the same place. A frame is recorded as
 * called by the native frame that contains its place, a frame without a place (null) as called by the innermost one.
 *
 * The provider is called within allocations of any thread, also in signal handlers, on the stack that they run on. So
 * it must read only what the thread's own interpreter keeps, take no lock that may be held there, not wait, and
 * return. What it allocates is not recorded, but counted as lost. errno is preserved for it. CPU samples are taken
 * without calling it.
 */
typedef unsigned int memprof_function_t;
struct memprof_frame {
    memprof_function_t function;
    unsigned int line; /* that it has reached, 0 if unknown */
    const void *place;
};
typedef size_t (*memprof_stack_provider_t)(struct memprof_frame *frames, size_t room);
memprof_function_t memprof_function(const char *name, const char *file);
memprof_stack_provider_t memprof_set_stack_provider(memprof_stack_provider_t provider);

#ifdef __cplusplus
}
#endif

/*
 * The rest is how a call finds the agent. The functions above are weak: without the agent they have no address. A
 * call of one goes to the function of that name with a trailing underscore, which checks for an address first.
 */
#if defined(__GNUC__)
#define SYSPROF_MEMPROF_INLINE static __inline__ __attribute__((__always_inline__, __unused__))
#else
#define SYSPROF_MEMPROF_INLINE static
#endif

#if !defined(__GNUC__) || !defined(__ELF__) || defined(SYSPROF_MEMPROF_DISABLE)
#define SYSPROF_MEMPROF_FIND(function) (found = NULL)
#elif defined(__x86_64__) && defined(__LP64__) && !defined(__PIC__)
/* In an executable for fixed addresses the linker resolves weak symbols to null, unless they are reached through the
 * global offset table, which the loader fills in. */
#define SYSPROF_MEMPROF_FIND(function) \
    __asm__(".weak " #function "\n\tmovq " #function "@GOTPCREL(%%rip), %0" : "=r"(found))
#else
#pragma weak memprof_start
#pragma weak memprof_stop
#pragma weak memprof_mark
#pragma weak memprof_mark_begin
#pragma weak memprof_mark_end
#pragma weak memprof_pool
#pragma weak memprof_report_alloc
#pragma weak memprof_report_realloc
#pragma weak memprof_report_free
#pragma weak memprof_function
#pragma weak memprof_set_stack_provider
#define SYSPROF_MEMPROF_FIND(function) (found = (function))
#endif

SYSPROF_MEMPROF_INLINE void memprof_start_(void)
{
    void (*found)(void) = NULL;
    SYSPROF_MEMPROF_FIND(memprof_start);
    if (found)
        found();
}

SYSPROF_MEMPROF_INLINE void memprof_stop_(void)
{
    void (*found)(void) = NULL;
    SYSPROF_MEMPROF_FIND(memprof_stop);
    if (found)
        found();
}

SYSPROF_MEMPROF_INLINE void memprof_mark_(const char *name)
{
    void (*found)(const char *) = NULL;
    SYSPROF_MEMPROF_FIND(memprof_mark);
    if (found)
        found(name);
}

SYSPROF_MEMPROF_INLINE void memprof_mark_begin_(const char *name)
{
    void (*found)(const char *) = NULL;
    SYSPROF_MEMPROF_FIND(memprof_mark_begin);
    if (found)
        found(name);
}

SYSPROF_MEMPROF_INLINE void memprof_mark_end_(const char *name)
{
    void (*found)(const char *) = NULL;
    SYSPROF_MEMPROF_FIND(memprof_mark_end);
    if (found)
        found(name);
}

SYSPROF_MEMPROF_INLINE memprof_pool_t memprof_pool_(const char *name)
{
    memprof_pool_t (*found)(const char *) = NULL;
    SYSPROF_MEMPROF_FIND(memprof_pool);
    return found ? found(name) : 0;
}

SYSPROF_MEMPROF_INLINE void memprof_report_alloc_(memprof_pool_t pool, const void *block, size_t size)
{
    void (*found)(memprof_pool_t, const void *, size_t) = NULL;
    SYSPROF_MEMPROF_FIND(memprof_report_alloc);
    if (found)
        found(pool, block, size);
}

SYSPROF_MEMPROF_INLINE void memprof_report_realloc_(memprof_pool_t pool, const void *old, const void *block,
                                                    size_t size)
{
    void (*found)(memprof_pool_t, const void *, const void *, size_t) = NULL;
    SYSPROF_MEMPROF_FIND(memprof_report_realloc);
    if (found)
        found(pool, old, block, size);
}

SYSPROF_MEMPROF_INLINE void memprof_report_free_(memprof_pool_t pool, const void *block)
{
    void (*found)(memprof_pool_t, const void *) = NULL;
    SYSPROF_MEMPROF_FIND(memprof_report_free);
    if (found)
        found(pool, block);
}

SYSPROF_MEMPROF_INLINE memprof_function_t memprof_function_(const char *name, const char *file)
{
    memprof_function_t (*found)(const char *, const char *) = NULL;
    SYSPROF_MEMPROF_FIND(memprof_function);
    return found ? found(name, file) : 0;
}

SYSPROF_MEMPROF_INLINE memprof_stack_provider_t memprof_set_stack_provider_(memprof_stack_provider_t provider)
{
    memprof_stack_provider_t (*found)(memprof_stack_provider_t) = NULL;
    SYSPROF_MEMPROF_FIND(memprof_set_stack_provider);
    return found ? found(provider) : NULL;
}

#undef SYSPROF_MEMPROF_FIND
#undef SYSPROF_MEMPROF_INLINE

#define memprof_start memprof_start_
#define memprof_stop memprof_stop_
#define memprof_mark memprof_mark_
#define memprof_mark_begin memprof_mark_begin_
#define memprof_mark_end memprof_mark_end_
#define memprof_pool memprof_pool_
#define memprof_report_alloc memprof_report_alloc_
#define memprof_report_realloc memprof_report_realloc_
#define memprof_report_free memprof_report_free_
#define memprof_function memprof_function_
#define memprof_set_stack_provider memprof_set_stack_provider_

#endif
