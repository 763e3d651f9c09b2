//! One small recording with a row in every table and an event of every kind, and what reading it must give.

use capture::{
    Action, Area, AreaKind, Clock, CollectorCost, Counter, CounterKind, CpuSummary, Ended, Error, Event,
    Fault, FaultSummary, FigureKind, Frame, FrameId, Lost, MappedCode, Mark, MarkId, MarkKind, Metadata,
    Module, Node, NodeId, Object, Overhead, Pointer, Process, ProcessEnd, ProcessId, Pseudo, ReadAt, Reader,
    ReallocOutcome, Region, Sample, Scan, ScanId, Sink, SourceFrame, StackCopy, StringId, SumKind, Summary,
    Symbolized, Tables, Task, TaskId, Thread, ThreadId, Writer,
};

/// The contents of a capture, for comparisons.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Contents {
    pub(crate) tables: Tables,
    pub(crate) events: Vec<Event>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) counters: Vec<Counter>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) copies: Vec<StackCopy>,
    pub(crate) pointers: Vec<Pointer>,
    pub(crate) objects: Vec<Object>,
}

/// Reads a whole capture from its bytes.
pub(crate) fn read(source: impl ReadAt) -> Result<Contents, Error> {
    let reader = Reader::from_source(source)?;
    let mut contents =
        Contents { events: reader.events()?.collect::<Result<_, _>>()?, ..Contents::default() };
    reader.for_each_samples(|some| contents.samples.extend_from_slice(some))?;
    reader.for_each_counters(|some| contents.counters.extend_from_slice(some))?;
    reader.for_each_faults(|some| contents.faults.extend_from_slice(some))?;
    reader.for_each_stack_copy(|copy| contents.copies.push(copy.clone()))?;
    for scan in 0..reader.tables().scans.len() {
        let scan = ScanId::from_index(scan);
        reader.for_each_pointers(scan, |some| contents.pointers.extend_from_slice(some))?;
        reader.for_each_objects(scan, |some| contents.objects.extend_from_slice(some))?;
    }
    contents.tables = reader.into_tables();
    Ok(contents)
}

/// The events of a capture up to the first unreadable one.
pub(crate) fn readable_events<S: ReadAt>(reader: &Reader<S>) -> Vec<Event> {
    reader.events().unwrap().map_while(Result::ok).collect()
}

pub(crate) fn metadata() -> Metadata {
    Metadata {
        tool_version: "0.1.0".into(),
        command: vec!["./a.out".into(), "--fast".into()],
        started_unix_ns: 1_790_000_000_000_000_000,
        boot_id: "3b1c5d0e-0001-4c7e-9d53-2f9a6f3f0a11".into(),
        clock: Clock::MonotonicRaw,
        options: vec![("sample".into(), "0".into())],
        sample_interval: 524_288,
        labels: vec![("host.name".into(), "box".into())],
    }
}

pub(crate) fn summary() -> Summary {
    Summary {
        duration_ns: 12_345_678,
        lost: vec![Lost { reason: "ring_full".into(), events: 7, advice: "a larger ring".into() }],
        overhead: Overhead {
            agent_cpu_ns: 1,
            collector_cpu_ns: 2,
            wait_ns: 3,
            collector_peak_rss: 4,
            shared_memory: 5,
            agent_allocations: 0,
        },
        unrecorded: vec!["43 sleep".into()],
        remarks: vec!["One thread has no name.".into()],
        effort: CollectorCost { drain_cpu_ns: 6, writer_cpu_ns: 7, wake_ups: 8, held_ns: 9 },
        cpu: CpuSummary {
            event: "cpu-clock".into(),
            frequency: 999,
            is_system_wide: true,
            has_kernel: true,
            samples: 3,
            lost: 10,
            throttled: 11,
            late: 12,
            truncated: 13,
            incomplete: 14,
            clock_error_ns: 15,
            cost_ns: 16,
            refused: "no cycles here".into(),
        },
        faults: FaultSummary {
            is_recorded: true,
            has_kernel: true,
            faults: 17,
            lost: 18,
            without_stack: 19,
            huge_pages: "madvise".into(),
            page_bytes: 4096,
            huge_page_bytes: 2 << 20,
            refused: "not all of them".into(),
        },
    }
}

/// The rows of the fixture, with the ids that the writer gives them.
pub(crate) fn tables() -> Tables {
    let exact = |address| Frame::Code { module: None, address, exact: true };
    let libc = Module {
        path: "/lib/libc.so.6".into(),
        build_id: vec![0xab; 20],
        device: 8,
        inode: 99,
        modified_ns: 1_700_000_000_000_000_000,
    };
    let parent = Process {
        pid: 42,
        parent_pid: 1,
        start_ticks: 1000,
        name: "a.out".into(),
        executable: "/home/me/a.out".into(),
        command: vec!["./a.out".into(), "--fast".into()],
        end: Some(ProcessEnd { ended: Ended::Exited(3), time: 11_000_000 }),
        ..Process::default()
    };
    let child = Process {
        pid: 43,
        parent_pid: 42,
        parent: Some(ProcessId(0)),
        start_ticks: 1010,
        forked: true,
        name: "a.out".into(),
        end: Some(ProcessEnd { ended: Ended::Exec, time: 9_000_000 }),
        ..Process::default()
    };
    let node = |parent, frame| Node { parent: NodeId(parent), frame: FrameId(frame) };
    let frames = vec![
        Frame::Code { module: Some(capture::ModuleId(1)), address: 0x1139, exact: false },
        Frame::Code { module: Some(capture::ModuleId(0)), address: 0x27_c8a, exact: false },
        exact(0x7fff_0000_1234),
        Frame::Pseudo(Pseudo::Calloc),
        Frame::Pseudo(Pseudo::Truncated),
    ];
    let name = |function, file, line| SourceFrame { function, file, line };
    let mut symbols = vec![None; frames.len()];
    symbols[0] = Some(Symbolized {
        frame: FrameId(0),
        names: vec![
            name(Some(capture::StringId(0)), Some(capture::StringId(1)), Some(12)),
            name(Some(capture::StringId(2)), None, None),
        ],
        reason: None,
        linkage: Some(capture::StringId(5)),
        start: None,
    });
    symbols[2] = Some(Symbolized {
        frame: FrameId(2),
        names: vec![],
        reason: Some(capture::StringId(3)),
        linkage: None,
        start: Some(0x1230),
    });
    Tables {
        metadata: metadata(),
        strings: STRINGS.map(String::from).to_vec(),
        modules: vec![libc, Module { path: "/home/me/a.out".into(), inode: 7, ..Module::default() }],
        processes: vec![parent, child],
        threads: vec![
            Thread { process: ProcessId(0), tid: 42, name: "main".into() },
            Thread { process: ProcessId(0), tid: 44, name: String::new() },
            Thread { process: ProcessId(1), tid: 43, name: "a.out".into() },
        ],
        tasks: vec![
            Task { pid: 42, tid: 44, name: "worker".into(), process: Some(ProcessId(0)) },
            Task { pid: 2, tid: 2, name: "[kthreadd]".into(), process: None },
        ],
        frames,
        nodes: vec![node(0, 0), node(0, 1), node(1, 0), node(2, 3), node(0, 4), node(4, 2)],
        symbols,
        marks: marks(),
        scans: scans(),
        summary: Some(summary()),
    }
}

/// Names of functions and files, names that the program gave, and a linkage name.
const STRINGS: [&str; 6] =
    ["parse<ä>", "src/parse.rs", "main", "the code was generated", "arena", "_ZN5parseEv"];

/// A mark of each kind, with names of all sorts.
fn marks() -> Vec<Mark> {
    let mark = |time, kind, name| Mark { time, thread: ThreadId(0), kind, name: StringId(name) };
    vec![
        mark(11_560_000, MarkKind::Begin, 4),
        mark(12_250_000, MarkKind::Instant, 0),
        mark(12_960_000, MarkKind::End, 4),
    ]
}

/// One event of each kind, and runs of the common ones. No three lie on a line, so their times come back to the
/// nanosecond.
pub(crate) fn events() -> Vec<Event> {
    let (pool, stack) = (StringId(4), NodeId(3));
    let more = [
        Action::Pause,
        Action::Resume,
        Action::Mark { mark: MarkId(0) },
        Action::PoolAlloc { pool, address: 0x5555_0000_3010, size: 48, stack },
        Action::Mark { mark: MarkId(1) },
        Action::PoolRealloc { pool, old: 0x5555_0000_3010, address: 0x5555_0000_3080, size: 1 << 40, stack },
        Action::Mark { mark: MarkId(2) },
        Action::PoolFree { pool, address: 7 },
        Action::Sum { kind: SumKind::Allocated, stack, blocks: 3, bytes: 5_000_000_000 },
        Action::Sum { kind: SumKind::Peak, stack: NodeId(5), blocks: u64::MAX, bytes: 0 },
        Action::Figure { kind: FigureKind::FreesFromBefore, value: 300 },
        Action::Figure { kind: FigureKind::BreakBytes, value: 4096_u64.wrapping_neg() },
        Action::Snapshot,
        Action::AllocFailed { size: 1 << 40, factors: None, alignment: 0, error: 12, stack },
        Action::AllocFailed {
            size: u64::MAX,
            factors: Some((1 << 40, 1 << 32)),
            alignment: 3,
            error: 22,
            stack: NodeId(5),
        },
        Action::Sum { kind: SumKind::Failed, stack, blocks: 2, bytes: u64::MAX },
    ];
    let mut events = events_of_blocks();
    let more = (32..).zip(more).map(|(n, action)| Event { time: time(n), thread: ThreadId(0), action });
    let before_the_end = events.len() - 2;
    events.splice(before_the_end..before_the_end, more);
    events
}

fn time(number: u64) -> u64 {
    10_000 * number * number
}

/// Events of processes, threads, blocks and pages.
fn events_of_blocks() -> Vec<Event> {
    let stack = NodeId(3);
    let alloc = |address, size| Action::Alloc { address, size, alignment: 0, stack };
    let free = |address| Action::Free { address, stack: NodeId::ROOT };
    let block = |address, size| ReallocOutcome::Block { address, size, stack: NodeId(2) };
    let main = [
        Action::ProcessStart { process: ProcessId(0), fork: 0 },
        Action::ThreadStart,
        Action::Break { from: 0x5555_0000_0000, address: 0x5555_0002_1000, stack: NodeId(1), in_hook: true },
        Action::Map { address: 0x7f00_0000_0000, length: 0x2_1000, stack, in_hook: true },
        Action::Map { address: 0x7f00_0010_0000, length: 4096, stack, in_hook: false },
        Action::Remap {
            old_address: 0x7f00_0010_0000,
            old_length: 4096,
            address: 0x7f00_0020_0000,
            length: 8192,
            stack,
        },
        Action::Unmap { address: 0x7f00_0020_0000, length: 8192 },
        Action::UnmapFailed { address: 0x7f00_0020_0000, length: 8192 },
        alloc(0x5555_0000_12a0, 24),
        alloc(0x5555_0000_12c0, 0),
        free(0x5555_0000_12a0),
        alloc(0x5555_0000_12a0, 20),
        free(0x5555_0000_12c0),
        free(0x5555_0000_0010),
        Action::Alloc { address: 0x5555_0000_2000, size: 100, alignment: 4096, stack: NodeId(5) },
        Action::Free { address: 0x5555_0000_2000, stack: NodeId(1) },
        Action::ReallocBegin { address: 0x5555_0000_12a0, serial: 1 },
        Action::ReallocEnd { serial: 1, outcome: block(0x5555_0000_12a0, 28) },
        Action::ReallocBegin { address: 0x5555_0000_12a0, serial: 2 },
        Action::ReallocEnd { serial: 2, outcome: block(0x5555_0000_3000, 5_000_000_000) },
        Action::ReallocBegin { address: 0x5555_0000_3000, serial: 3 },
        Action::ReallocEnd { serial: 3, outcome: ReallocOutcome::Failed },
        Action::ReallocBegin { address: 0x5555_0000_3000, serial: 4 },
        Action::ReallocEnd { serial: 4, outcome: ReallocOutcome::Freed },
        Action::GapBegin,
        Action::GapEnd { allocations: 5, frees: 300 },
        Action::Fork { fork: 300 },
        Action::ProcessStart { process: ProcessId(1), fork: 300 },
        Action::Unsampled,
        Action::ThreadEnd,
        Action::ProcessEnd { process: ProcessId(0) },
    ];
    let at = |time, thread, action| Event { time, thread: ThreadId(thread), action };
    let mut events: Vec<Event> = (1..).zip(main).map(|(n, action)| at(time(n), 0, action)).collect();
    // Another thread's clock may be behind: the file's order counts.
    events.insert(10, at(2000, 1, Action::ThreadStart));
    events.insert(12, at(0, 2, alloc(u64::MAX, u64::MAX)));
    events
}

/// Samples of two processors, the last one late.
pub(crate) fn samples() -> Vec<Sample> {
    let at = |time, task, cpu, stack| Sample {
        time,
        task: TaskId(task),
        cpu,
        stack: NodeId(stack),
        weight: 1_001_001,
    };
    vec![at(1_000_500, 0, 0, 3), at(2_001_000, 1, 7, 0), at(1_999_999, 0, 7, 5)]
}

/// Page faults at both ends of the address space, with and without a stack, in each region.
pub(crate) fn faults() -> Vec<Fault> {
    let addresses = [0x5555_0000_2010, 0x7f00_0000_0000, 0, u64::MAX, 0x7fff_0000_0008];
    let each = Region::ALL.into_iter().zip(addresses).zip([3, 0, 5, 1, 3]);
    let fault = |(number, ((region, address), stack))| Fault {
        time: 1_000_700 + 333 * u64::from(number),
        task: TaskId(number % 2),
        address,
        stack: NodeId(stack),
        region,
    };
    (0_u32..).zip(each).map(fault).collect()
}

/// The stack copies of two samples, with code of a file and without one.
fn copies() -> Vec<StackCopy> {
    let code = |start, module| MappedCode { start, end: start + 0x1000, offset: 0x2000, module };
    let whole = StackCopy {
        sample: 1,
        ip: 0x7f00_0000_1234,
        sp: 0x7fff_0000_0010,
        bp: u64::MAX,
        is_cut: true,
        stack: (0..=255).collect(),
        code: vec![code(0x7f00_0000_1000, Some(capture::ModuleId(1))), code(0x1000, None)],
        link: None,
    };
    let linked = StackCopy { sample: 0, link: Some(0x2a_7f00_0000_1238), ..whole.clone() };
    vec![StackCopy { sample: 2, ..StackCopy::default() }, whole, linked]
}

/// Counters of a process and of the machine.
pub(crate) fn counters() -> Vec<Counter> {
    let of = |time, process, kind, instance, value| Counter { time, process, kind, instance, value };
    vec![
        of(100_000, Some(ProcessId(0)), CounterKind::Rss, 0, 4096),
        of(100_000, None, CounterKind::CpuBusy, 1, 99_000),
        of(200_000, Some(ProcessId(1)), CounterKind::UserTime, 0, 10_000_000),
    ]
}

/// Two scans of the same process.
fn scans() -> Vec<Scan> {
    let area = |start, end, kind, tid, name, base| Area { start, end, kind, tid, name: StringId(name), base };
    let first = Scan {
        process: ProcessId(0),
        time: 4_000_000,
        still_ns: 1_500_000,
        searched: 12_288,
        unread: 4096,
        lost: 1,
        areas: vec![
            area(0x5555_0000_0000, 0x5555_0002_1000, AreaKind::Heap, 0, 4, 0),
            area(0x7f00_0000_0000, 0x7f00_0000_1000, AreaKind::Variables, 0, 1, 0x7eff_ffff_0000),
            area(0x7fff_0000_0000, 0x7fff_0000_1000, AreaKind::Stack, 44, 4, 0),
        ],
    };
    let second = Scan { time: 8_000_000, areas: Vec::new(), ..first.clone() };
    vec![first, second]
}

/// Two pointers of the first scan, and one of the second.
fn pointers() -> Vec<Pointer> {
    let pointer = |from, to| Pointer { from, to };
    vec![
        pointer(0x5555_0000_12a0, 0x5555_0000_3000),
        pointer(0x7fff_0000_0ff8, 0x5555_0000_12a8),
        pointer(0x5555_0000_3000, 0x5555_0000_12a0),
    ]
}

/// One object of the first scan, and two of the second.
fn objects() -> Vec<Object> {
    let object = |at, class| Object { at, class: StringId(class) };
    vec![object(0x5555_0000_12a0, 2), object(0x5555_0000_12a0, 3), object(0x5555_0000_3000, 2)]
}

/// Writes the fixture in two parts, with a flush between them, and returns the writer before `finish`.
pub(crate) fn write_to<W: Sink>(sink: W) -> Result<Writer<W>, Error> {
    let (tables, events) = (tables(), events());
    let mut writer = Writer::new(sink, &tables.metadata)?;
    for module in &tables.modules {
        writer.module(module.clone())?;
    }
    // As at their start, without an end.
    for process in &tables.processes {
        writer.process(Process { end: None, ..process.clone() })?;
    }
    for thread in &tables.threads {
        writer.thread(Thread { name: String::new(), ..thread.clone() })?;
    }
    for &frame in &tables.frames {
        writer.frame(frame)?;
    }
    for node in &tables.nodes[1..] {
        writer.node(node.parent, node.frame)?;
    }
    for string in &tables.strings {
        writer.string(string)?;
    }
    for &mark in &tables.marks {
        writer.mark(mark)?;
    }
    for scan in &tables.scans {
        writer.scan(scan)?;
    }
    for task in &tables.tasks {
        writer.task(Task { process: None, ..task.clone() })?;
    }
    let (samples, counters, faults) = (samples(), counters(), faults());
    writer.sample(samples[0])?;
    writer.counter(counters[0])?;
    writer.fault(faults[0])?;
    let (first, second) = events.split_at(events.len() / 2);
    first.iter().try_for_each(|&event| writer.event(event))?;
    writer.flush()?;
    second.iter().try_for_each(|&event| writer.event(event))?;
    samples[1..].iter().try_for_each(|&sample| writer.sample(sample))?;
    counters[1..].iter().try_for_each(|&counter| writer.counter(counter))?;
    faults[1..].iter().try_for_each(|&fault| writer.fault(fault))?;
    copies().iter().try_for_each(|copy| writer.stack_copy(copy))?;
    let pointers = pointers();
    writer.pointers(ScanId(0), &pointers[..2])?;
    writer.pointers(ScanId(1), &pointers[2..])?;
    let objects = objects();
    writer.objects(ScanId(0), &objects[..1])?;
    writer.objects(ScanId(1), &objects[1..])?;
    for (id, task) in (0..).zip(&tables.tasks) {
        writer.update_task(TaskId(id), task.clone())?;
    }
    for (id, thread) in (0..).zip(&tables.threads) {
        writer.update_thread(ThreadId(id), thread.clone())?;
    }
    for (id, process) in (0..).zip(&tables.processes) {
        writer.update_process(ProcessId(id), process.clone())?;
    }
    writer.flush()?;
    for symbolized in tables.symbols.into_iter().flatten() {
        writer.symbolized(symbolized)?;
    }
    Ok(writer)
}

/// The fixture as a finished file.
pub(crate) fn file() -> Vec<u8> {
    write_to(Vec::new()).and_then(|writer| writer.finish(&summary())).expect("memory takes every write")
}

/// What reading [`file`] gives.
pub(crate) fn contents() -> Contents {
    let (samples, counters, faults) = (samples(), counters(), faults());
    Contents {
        tables: tables(),
        events: events(),
        samples,
        counters,
        faults,
        copies: copies(),
        pointers: pointers(),
        objects: objects(),
    }
}

/// True when the events are the same and each time differs by less than a microsecond.
pub(crate) fn are_close(found: &[Event], expected: &[Event]) -> bool {
    let is_close = |(found, expected): (&Event, &Event)| {
        found.time.abs_diff(expected.time) < capture::TIME_UNIT_NS
            && *found == Event { time: found.time, ..*expected }
    };
    found.len() == expected.len() && found.iter().zip(expected).all(is_close)
}
