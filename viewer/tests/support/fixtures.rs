//! Captures that several tests look at.

use super::Made;
use analysis::{Counters, PoolEvents, ProfileBuilder};
use capture::{
    Action, Area, AreaKind, CollectorCost, CounterKind, CpuSummary, Ended, Lost, MarkKind, Metadata, NodeId,
    Overhead, Process, Pseudo, ReallocOutcome, Summary, TaskId,
};
use engine::{Loaded, Source};

impl Made {
    /// Counted, under this file name.
    pub(crate) fn loaded(self, file: &str) -> Loaded {
        let profile = self.profile();
        let mut counters = Counters::default();
        self.counters.iter().for_each(|counter| counters.add(counter));
        let source = Source { file: file.to_owned(), ..Source::default() };
        Loaded { counters, ..Loaded::new(self.tables, profile, source) }
    }

    /// The blocks of one of its pools counted, in place of those of the heap.
    pub(crate) fn loaded_of_pool(mut self, pool: &str, file: &str) -> Loaded {
        let pool = self.string(pool);
        let of_pool = PoolEvents::of(pool);
        let mut builder = ProfileBuilder::new(&self.tables).of_pools();
        self.events.iter().for_each(|event| builder.pool_event(&of_pool, event));
        let profile = builder.finish();
        Loaded { profile, heap: Some(pool), ..self.loaded(file) }
    }
}

/// Three blocks of 100 bytes by `a > b`, one of 50 by `a > c`.
pub(crate) fn small() -> Made {
    let (mut made, process, thread, [b, c]) = Made::app_with(["main > a > b", "main > a > c"]);
    for block in 0..3 {
        made.alloc(thread, 0x1000 + block * 0x100, 100, b);
    }
    made.alloc(thread, 0x2000, 50, c);
    made.free(thread, 0x1000);
    made.end(process, thread, Ended::Exited(0));
    made.tables.summary = Some(Summary { duration_ns: 7_000_000, ..Summary::default() });
    made
}

/// Samples of one in 64 KiB: small blocks of `a > b`, of which each stands for hundreds, some of them freed, one
/// temporary and one not; blocks near the interval, and one that was certain to be recorded.
pub(crate) fn sampled() -> Made {
    let (mut made, process, thread, [b, c]) = Made::app_with(["main > a > b", "main > a > c"]);
    made.tables.metadata.sample_interval = 64 << 10;
    for block in 0..40 {
        made.alloc(thread, 0x1000 + block * 0x100, 100, b);
    }
    for block in 0..30 {
        made.free(thread, 0x1000 + block * 0x100);
    }
    made.alloc(thread, 0x9000, 100, b);
    made.free(thread, 0x9000);
    made.alloc(thread, 0x9000, 100, b);
    made.event(thread, Action::Unsampled);
    made.free(thread, 0x9000);
    for block in 0..3 {
        made.alloc(thread, 0x20_0000 * (block + 1), 64 << 10, c);
    }
    made.alloc(thread, 0x100_0000, 20 << 20, c);
    made.end(process, thread, Ended::Exited(0));
    made.tables.summary = Some(Summary { duration_ns: 7_000_000, ..Summary::default() });
    made
}

/// What programs tell of themselves: a process that begins paused and pauses once more, with marks, and two pools in
/// memory that it has from malloc, one of which a second process has, too.
pub(crate) fn reported() -> Made {
    let (mut made, app, one, [main, grow]) = Made::app_with(["main > load", "main > grow"]);
    let (new, again) = (
        made.stack("main > load > memprof_report_alloc"),
        made.stack("main > grow > memprof_report_realloc"),
    );
    let (arena, cache) = (made.string("arena"), made.string("\u{1b}cache"));
    made.event(one, Action::Pause);
    made.event(one, Action::Resume);
    made.alloc(one, 0x1000, 4096, main);
    made.mark(one, MarkKind::Begin, "load");
    made.event(one, Action::PoolAlloc { pool: arena, address: 0x1000, size: 100, stack: new });
    made.event(one, Action::PoolAlloc { pool: arena, address: 0x1100, size: 50, stack: new });
    made.event(one, Action::PoolAlloc { pool: cache, address: 0x1000, size: 7, stack: new });
    made.event(
        one,
        Action::PoolRealloc { pool: arena, old: 0x1100, address: 0x1200, size: 80, stack: again },
    );
    made.event(one, Action::PoolFree { pool: cache, address: 0x1000 });
    made.mark(one, MarkKind::End, "load");
    made.alloc(one, 0x5000, 10, grow);
    made.event(one, Action::Pause);
    made.mark(one, MarkKind::Instant, "idle\n");
    made.event(one, Action::Resume);
    // In the pause the second block was freed, and two more were allocated.
    made.alloc(one, 0x5000, 20, grow);
    made.free(one, 0x6000);
    made.free(one, 0x5000);
    made.event(one, Action::PoolFree { pool: arena, address: 0x1000 });
    made.end(app, one, Ended::Exited(0));
    let (other, two) = made.process("other");
    made.event(two, Action::PoolAlloc { pool: arena, address: 0x1000, size: 1000, stack: new });
    made.end(other, two, Ended::Exited(0));
    made.tables.summary = Some(Summary { duration_ns: 30_000_000, ..Summary::default() });
    made
}

/// Three scans: of a cache that holds a list of three blocks, the last of which a library and a stack refer to as well, and which holds a
/// name; of another process, with one block that a variable holds; and of the first again, which has lost a block with a name by
/// then, freed later, and two that hold each other.
pub(crate) fn scanned() -> Made {
    let [heap, data, top] = [0x5555_0000_0000, 0x7f20_0000_0000, 0x7fff_0000_0000_u64];
    let (mut made, app, one, stacks) =
        Made::app_with(["main > insert", "main > push", "main > dup", "main > drop"]);
    let [program, library, nothing] = ["/bin/app", "/lib/libq.so", ""].map(|name| made.string(name));
    let area = |start, kind, tid, name| Area { start, end: start + 0x1000, kind, tid, name, base: 0 };
    let areas = [
        area(heap, AreaKind::Heap, 0, nothing),
        area(data, AreaKind::Variables, 0, program),
        area(data + 0x2000, AreaKind::Variables, 0, library),
        area(top, AreaKind::Stack, 5000, nothing),
    ];
    let block = |number: u64| heap + number * 0x100;
    for (number, (size, stack)) in (0..).zip([(100, 0), (10, 1), (10, 1), (10, 1), (5, 2)]) {
        made.alloc(one, block(number), size, stacks[stack]);
    }
    let mut pointers = vec![(data + 8, block(0)), (data + 0x2008, block(3)), (top + 8, block(3))];
    pointers.extend([(0, 1), (1, 2), (2, 3), (3, 4)].map(|(from, to)| (block(from), block(to))));
    made.scan(app, &areas, &pointers);
    made.objects_of("Entry", &[1, 2, 3].map(block));
    let (worker, two) = made.process("worker");
    made.alloc(two, heap, 1000, stacks[3]);
    made.scan(worker, &areas, &[(data + 16, heap)]);
    for (number, (size, stack)) in (5..).zip([(40, 3), (7, 2), (16, 1), (16, 1)]) {
        made.alloc(one, block(number), size, stacks[stack]);
    }
    pointers.extend([(5, 6), (7, 8), (8, 7)].map(|(from, to)| (block(from), block(to))));
    made.scan(app, &areas, &pointers);
    made.objects_of("Entry", &[1, 2, 3, 7, 8].map(block));
    made.objects_of("Cache<std::string>", &[block(0)]);
    made.free(one, block(5));
    made.end(worker, two, Ended::Exited(0));
    made.end(app, one, Ended::Exited(0));
    made.tables.summary = Some(Summary { duration_ns: made.time, ..Summary::default() });
    made
}

/// What stands beside allocations: samples of two threads and of a process without allocations, one in the kernel, one that came
/// late, one of nobody; counters; a region, a mark with a long name, a gap and a pause, one of which lasts to the end.
pub(crate) fn worked() -> Made {
    let (mut made, app, one) = Made::app();
    let (main, helper) = (made.task(app, 1000, "app"), made.task(app, 5001, "helper"));
    let (work, wait) = (made.stack("main > work"), made.stack("main > read"));
    let entry = made.frame(Some("[kernel]"), &["do_syscall_64"]);
    let module = made.frame(Some("[ext4]"), &["ext4_read"]);
    let inner = made.frame(Some("[kernel]"), &["copy_to_user"]);
    let in_kernel = [entry, module, inner].into_iter().fold(wait, |node, frame| made.node(node, frame));
    made.sample(main, 100, work);
    made.alloc(one, 0x1000, 4096, work);
    made.counter(Some(app), CounterKind::Rss, 1 << 20);
    made.counter(Some(app), CounterKind::UserTime, 1_000_000);
    made.counter(Some(app), CounterKind::SystemTime, 500_000);
    made.counter(None, CounterKind::CpuBusy, 7_000_000);
    made.mark(one, MarkKind::Begin, "load");
    made.sample(main, 200, in_kernel);
    made.sample(helper, 300, work);
    made.sample(TaskId(9), 300, work);
    made.sample(helper, 900_000, NodeId::ROOT);
    made.sample(main, 400, work);
    made.alloc(one, 0x2000, 100, wait);
    made.mark(one, MarkKind::End, "load");
    made.mark(one, MarkKind::Instant, "a name that is longer than Sysprof has room for");
    let two = made.thread(app);
    made.event(two, Action::GapBegin);
    made.event(one, Action::Pause);
    made.event(one, Action::Resume);
    made.event(two, Action::GapEnd { allocations: 2, frees: 1 });
    made.free(one, 0x1000);
    made.counter(Some(app), CounterKind::Rss, 1 << 19);
    made.counter(Some(app), CounterKind::UserTime, 3_000_000);
    made.counter(Some(app), CounterKind::SystemTime, 1_000_000);
    made.counter(None, CounterKind::CpuBusy, 13_000_000);
    made.end(app, one, Ended::Signaled(9));
    let (shell, first) = made.process("sh");
    made.event(first, Action::GapBegin);
    let task = made.task(shell, 1001, "sh");
    made.sample(task, 0, work);
    made.sample(task, 10, NodeId::ROOT);
    let cpu = CpuSummary { event: "cpu-clock".to_owned(), frequency: 1000, ..CpuSummary::default() };
    made.tables.summary = Some(Summary { duration_ns: 20_000_000, cpu, ..Summary::default() });
    made
}

/// Everything that a capture can hold: two processes of one name, one more that exec replaced, inlined, nameless
/// and hostile functions, stacks without an end, plumbing of the standard library, a gap, a realloc that did not
/// return, pages, losses and remarks.
pub(crate) fn rich() -> Made {
    let mut made = Made::new();
    made.tables.metadata = Metadata {
        tool_version: "0.1.0".to_owned(),
        command: vec!["./server".to_owned(), "--data dir".to_owned()],
        started_unix_ns: 1_700_000_000_000_000_000,
        boot_id: "b00t".to_owned(),
        options: vec![("on_full".to_owned(), "drop".to_owned())],
        labels: vec![
            ("host.name".to_owned(), "db-7".to_owned()),
            ("team".to_owned(), "a\u{1b}[b".to_owned()),
        ],
        ..Metadata::default()
    };
    let (shell, first) = made.process("sh");
    let start = made.stack("_start > main");
    made.alloc(first, 0x10, 64, start);
    made.end(shell, first, Ended::Exec);
    let executable = "/opt/bin/server".to_owned();
    let row = Process {
        parent: Some(shell),
        image: 1,
        name: "server".to_owned(),
        executable,
        labels: vec![("service.name".to_owned(), "shop".to_owned())],
        ..Process::default()
    };
    let (server, one) = made.process_row(row);
    let (child, two) = made.fork(server);

    let inlined = made.frame(Some("/opt/lib/libparse.so.1"), &["push", "grow", "parse"]);
    let inlined = made.node(start, inlined);
    made.alloc(one, 0x1000, 1 << 20, inlined);

    let push = "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int*, int&&)";
    let plumbing = made.stack(&format!("_start > main > fill(std::vector<int>&) > {push} > operator new"));
    made.alloc(one, 0x2000, 300_000, plumbing);
    let outcome = ReallocOutcome::Block { address: 0x3000, size: 600_000, stack: plumbing };
    made.realloc(one, 1, 0x2000, outcome);

    let nameless = made.frame(Some("/usr/lib/libx.so.1"), &[]);
    made.reason(nameless, "No symbols in binary file");
    let nowhere = made.frame(None, &[]);
    made.reason(nowhere, "No mapping for address");
    let nameless = made.node(start, nameless);
    let nowhere = made.node(nameless, nowhere);
    made.alloc(two, 0x1000, 5000, nowhere);

    let here = made.frame(Some("/usr/lib/liba.so"), &["init"]);
    let there = made.frame(Some("/usr/lib/libb.so"), &["init"]);
    for (address, frame) in [(0x4000, here), (0x5000, there)] {
        let node = made.node(start, frame);
        let calloc = made.pseudo(Pseudo::Calloc);
        let node = made.node(node, calloc);
        made.alloc(one, address, 2048, node);
    }
    let evil = made.stack("_start > main > \u{1b}[31mevil\nname");
    made.alloc(one, 0x6000, 512, evil);
    made.free(one, 0x6000);
    let deep = "[truncated stack]".to_owned() + &" > loop".repeat(30);
    let deep = made.stack(&deep);
    made.alloc(one, 0x7000, 4096, deep);
    let broken = made.stack("[incomplete: broken stack] > callback");
    made.alloc(one, 0x8000, 1000, broken);
    made.alloc(one, 0x9000, 16, NodeId::ROOT);

    made.event(one, Action::Map { address: 0x10000, length: 65536, stack: start, in_hook: true });
    made.event(two, Action::GapBegin);
    made.event(two, Action::GapEnd { allocations: 2, frees: 1 });
    made.free(two, 0x4000);
    made.event(one, Action::ReallocBegin { address: 0x8000, serial: 9 });
    made.end(server, one, Ended::Signaled(11));
    made.tables.processes[child.index()].pid = 2002;
    made.tables.summary = Some(Summary {
        duration_ns: 3_420_000_000,
        lost: vec![Lost {
            reason: "ring_full".to_owned(),
            events: 3,
            advice: "use --ring-size or --on-full block".to_owned(),
        }],
        overhead: Overhead {
            agent_cpu_ns: 12_300_000,
            collector_cpu_ns: 45_600_000,
            wait_ns: 7_800,
            collector_peak_rss: 9 << 20,
            shared_memory: 33 << 20,
            agent_allocations: 0,
        },
        unrecorded: vec!["2003 daemon".to_owned()],
        remarks: vec!["The program calls mi_malloc, which is linked into it.".to_owned()],
        effort: CollectorCost {
            drain_cpu_ns: 11_000_000,
            writer_cpu_ns: 22_000_000,
            wake_ups: 33,
            held_ns: 4_000,
        },
        ..Summary::default()
    });
    made
}
