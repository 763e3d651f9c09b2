/* Calls all that the header has; without a recording none of it does anything. Written so that C89 and C++ take it. */
#include "sysprof_memprof.h"

static size_t nothing_runs(struct memprof_frame *frames, size_t room)
{
    (void)frames;
    (void)room;
    return 0;
}

static void (*const by_address)(const char *) = memprof_mark;

int main(void)
{
    static char block[16];
    memprof_pool_t pool = memprof_pool("pool");
    memprof_start();
    memprof_mark("here");
    by_address("there");
    memprof_mark_begin("region");
    memprof_report_alloc(pool, block, 3);
    memprof_report_realloc(pool, block, block + 1, 4);
    memprof_report_free(pool, block + 1);
    memprof_mark_end("region");
    if (memprof_function("f", NULL) != memprof_function("f", NULL))
        return 1;
    memprof_set_stack_provider(nothing_runs);
    memprof_set_stack_provider(NULL);
    memprof_stop();
    return 0;
}
