/* Reads a Sysprof capture with Sysprof's own library, and prints what that finds in it:
 *
 *     allocations N bytes N frees N processes N named N of N leaked N temporary N
 *     up_to_SIZE N …
 *     samples N resolved N addresses N kernel N threads N graphs N
 *     counters N values N held N marks N longest N */

#include <stdio.h>
#include <string.h>
#include <sysprof.h>
#include <sysprof-capture.h>

static GMainLoop *loop;

static void generated(GObject *profile, GAsyncResult *result, gpointer stats)
{
    if (sysprof_profile_generate_finish(SYSPROF_PROFILE(profile), result, NULL))
        sysprof_memprof_profile_get_stats(SYSPROF_MEMPROF_PROFILE(profile), stats);
    g_main_loop_quit(loop);
}

static void drawn(GObject *profile, GAsyncResult *result, gpointer graphs)
{
    *(long long *)graphs = sysprof_profile_generate_finish(SYSPROF_PROFILE(profile), result, NULL) &&
                           !sysprof_callgraph_profile_is_empty(SYSPROF_CALLGRAPH_PROFILE(profile));
    g_main_loop_quit(loop);
}

/* What samples are of, and whether the library can make a call graph of them. */
static int read_samples(SysprofCaptureReader *reader, SysprofSymbolResolver *resolver)
{
    long long samples = 0, resolved = 0, addresses = 0, kernel = 0, graphs = 0;
    g_autoptr(GHashTable) threads = g_hash_table_new(NULL, NULL);
    SysprofCaptureFrameType type;
    sysprof_capture_reader_reset(reader);
    while (sysprof_capture_reader_peek_type(reader, &type)) {
        if (type != SYSPROF_CAPTURE_FRAME_SAMPLE) {
            if (!sysprof_capture_reader_skip(reader))
                return 4;
            continue;
        }
        const SysprofCaptureSample *frame = sysprof_capture_reader_read_sample(reader);
        if (!frame || frame->n_addrs == 0 || frame->frame.cpu < 0)
            return 5;
        samples++;
        g_hash_table_add(threads, GINT_TO_POINTER(frame->tid));
        SysprofAddressContext context = SYSPROF_ADDRESS_CONTEXT_NONE;
        for (unsigned place = 0; place < frame->n_addrs; place++) {
            if (sysprof_address_is_context_switch(frame->addrs[place], &context)) {
                kernel += context == SYSPROF_ADDRESS_CONTEXT_KERNEL;
                continue;
            }
            GQuark tag;
            g_autofree char *name = sysprof_symbol_resolver_resolve_with_context(
                resolver, frame->frame.time, frame->frame.pid, context, frame->addrs[place], &tag);
            resolved += name != NULL;
            addresses++;
        }
    }
    sysprof_capture_reader_reset(reader);
    SysprofProfile *profile = sysprof_callgraph_profile_new();
    sysprof_profile_set_reader(profile, reader);
    sysprof_profile_generate(profile, NULL, drawn, &graphs);
    g_main_loop_run(loop);
    printf("samples %lld resolved %lld addresses %lld kernel %lld threads %u graphs %lld\n", samples, resolved,
           addresses, kernel, g_hash_table_size(threads), graphs);
    return 0;
}

/* What counters say, those of heaps last, and marks. */
static int read_counters(SysprofCaptureReader *reader)
{
    long long counters = 0, values = 0, held = 0, marks = 0, longest = 0;
    g_autoptr(GHashTable) heaps = g_hash_table_new(NULL, NULL);
    SysprofCaptureFrameType type;
    sysprof_capture_reader_reset(reader);
    while (sysprof_capture_reader_peek_type(reader, &type)) {
        if (type == SYSPROF_CAPTURE_FRAME_CTRDEF) {
            const SysprofCaptureCounterDefine *frame = sysprof_capture_reader_read_counter_define(reader);
            if (!frame)
                return 6;
            counters += frame->n_counters;
            for (unsigned place = 0; place < frame->n_counters; place++)
                if (strncmp(frame->counters[place].name, "Heap of ", 8) == 0)
                    g_hash_table_insert(heaps, GUINT_TO_POINTER(frame->counters[place].id), NULL);
        } else if (type == SYSPROF_CAPTURE_FRAME_CTRSET) {
            const SysprofCaptureCounterSet *frame = sysprof_capture_reader_read_counter_set(reader);
            if (!frame)
                return 7;
            for (unsigned place = 0; place < 8u * frame->n_values; place++) {
                const SysprofCaptureCounterValues *group = &frame->values[place / 8];
                gpointer id = GUINT_TO_POINTER(group->ids[place % 8]);
                values += id != NULL;
                if (id && g_hash_table_contains(heaps, id))
                    g_hash_table_insert(heaps, id, (gpointer)(gintptr)group->values[place % 8].v64);
            }
        } else if (type == SYSPROF_CAPTURE_FRAME_MARK) {
            const SysprofCaptureMark *frame = sysprof_capture_reader_read_mark(reader);
            if (!frame)
                return 8;
            marks++;
            longest = MAX(longest, frame->duration);
        } else if (!sysprof_capture_reader_skip(reader)) {
            return 9;
        }
    }
    GHashTableIter heap;
    gpointer value;
    g_hash_table_iter_init(&heap, heaps);
    while (g_hash_table_iter_next(&heap, NULL, &value))
        held += (gintptr)value;
    printf("counters %lld values %lld held %lld marks %lld longest %lld\n", counters, values, held, marks, longest);
    return 0;
}

int main(int count, char **arguments)
{
    SysprofCaptureReader *reader = count == 2 ? sysprof_capture_reader_new(arguments[1]) : NULL;
    if (!reader)
        return 1;
    SysprofSymbolResolver *resolver = sysprof_capture_symbol_resolver_new();
    sysprof_symbol_resolver_load(resolver, reader);
    sysprof_capture_reader_reset(reader);

    long long allocations = 0, bytes = 0, frees = 0, processes = 0, named = 0, addresses = 0;
    SysprofCaptureFrameType type;
    while (sysprof_capture_reader_peek_type(reader, &type)) {
        processes += type == SYSPROF_CAPTURE_FRAME_PROCESS;
        if (type != SYSPROF_CAPTURE_FRAME_ALLOCATION) {
            if (!sysprof_capture_reader_skip(reader))
                return 2;
            continue;
        }
        const SysprofCaptureAllocation *frame = sysprof_capture_reader_read_allocation(reader);
        if (!frame)
            return 3;
        allocations += frame->alloc_size > 0;
        bytes += frame->alloc_size;
        frees += frame->alloc_size == 0;
        for (unsigned place = 0; place < frame->n_addrs; place++) {
            GQuark tag;
            g_autofree char *name = sysprof_symbol_resolver_resolve_with_context(
                resolver, frame->frame.time, frame->frame.pid, SYSPROF_ADDRESS_CONTEXT_USER, frame->addrs[place],
                &tag);
            named += name != NULL;
            addresses++;
        }
    }

    sysprof_capture_reader_reset(reader);
    SysprofMemprofStats stats = {0};
    SysprofProfile *profile = sysprof_memprof_profile_new();
    sysprof_memprof_profile_set_mode(SYSPROF_MEMPROF_PROFILE(profile), SYSPROF_MEMPROF_MODE_SUMMARY);
    sysprof_profile_set_reader(profile, reader);
    loop = g_main_loop_new(NULL, FALSE);
    sysprof_profile_generate(profile, NULL, generated, &stats);
    g_main_loop_run(loop);
    printf("allocations %lld bytes %lld frees %lld processes %lld named %lld of %lld leaked %lld temporary %lld\n",
           allocations, bytes, frees, processes, named, addresses, (long long)stats.leaked_allocs,
           (long long)stats.temp_allocs);
    for (unsigned place = 0; place < G_N_ELEMENTS(stats.by_size); place++)
        if (stats.by_size[place].bucket)
            printf("up_to_%lld %lld ", (long long)stats.by_size[place].bucket, (long long)stats.by_size[place].n_allocs);
    printf("\n");
    int failed = read_samples(reader, resolver);
    return failed ? failed : read_counters(reader);
}
