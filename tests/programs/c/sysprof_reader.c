/* Reads a Sysprof capture with Sysprof's own library, and prints what that finds in it:
 *
 *     allocations N bytes N frees N processes N named N of N leaked N */

#include <stdio.h>
#include <sysprof.h>
#include <sysprof-capture.h>

static GMainLoop *loop;

static void generated(GObject *profile, GAsyncResult *result, gpointer stats)
{
    if (sysprof_profile_generate_finish(SYSPROF_PROFILE(profile), result, NULL))
        sysprof_memprof_profile_get_stats(SYSPROF_MEMPROF_PROFILE(profile), stats);
    g_main_loop_quit(loop);
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
    printf("allocations %lld bytes %lld frees %lld processes %lld named %lld of %lld leaked %lld\n",
           allocations, bytes, frees, processes, named, addresses,
           (long long)stats.leaked_allocs);
    return 0;
}
