//! Captures whose numbers no program could have: every view shows something, and none stops.

use crate::support::World;
use capture::{
    Action, Counter, CounterKind, Create, Ended, Event, FREE_STACKS, Fault, FaultSummary, Frame, Mark,
    MarkKind, Metadata, NodeId, Process, ProcessEnd, ProcessId, ReallocOutcome, Region, Sample, Summary,
    Task, Thread, Writer,
};
use std::path::Path;

/// Numbers at which arithmetic goes wrong.
const NUMBERS: [u64; 14] = [
    0,
    1,
    2,
    16,
    4096,
    u32::MAX as u64,
    1 << 32,
    1 << 47,
    i64::MAX as u64 - 1,
    i64::MAX as u64,
    1 << 63,
    u64::MAX - 4096,
    u64::MAX - 1,
    u64::MAX,
];

/// Every command that shows a capture, without the capture, which comes last.
const VIEWS: &[&str] = &[
    "report",
    "report --json",
    "report --tree --by leaked",
    "report --inverted --by bytes --json",
    "report --functions --by temporary",
    "report --cpu",
    "report --allocator --json",
    "report --at end",
    "report --at 50% --json",
    "report --from 10% --to 90%",
    "report --from 1ns --to end",
    "diff --from start --to end",
    "diff --from 25% --to 75% --json",
    "diff --filter main --group-by module",
    "diff --callees main --json",
    "leaks",
    "leaks --json",
    "timeline",
    "timeline --json --steps 7",
    "timeline --from 10% --to 60% --json",
    "timeline --format csv --steps 7",
    "timeline --format markdown",
    "blocks --by temporary",
    "blocks --by temporary --json",
    "report --by frees --tree",
    "blocks --by thread",
    "blocks --by thread --json",
    "blocks --by size",
    "blocks --by size --json",
    "frees",
    "frees --inverted --json",
    "frees --functions",
    "blocks --by lifetime",
    "blocks --by lifetime --json",
    "blocks --by realloc",
    "blocks --by realloc --json",
    "blocks --by module",
    "blocks --by module --json",
    "pages",
    "pages --tree",
    "pages --json --at end",
    "pages --by allocation",
    "pages --by allocation --json --at peak",
    "pages --by touch --from 10%",
    "errors",
    "errors --json --from 10%",
    "report --lines",
    "report --lines --json",
    "history 0x1000 --json",
    "history 0xffffffffffffffff",
    "check --max-peak 1 --max-leaked 1",
    "info",
    "info --json",
    "export --format events",
    "export --format events-json",
    "export --format events-json --samples",
    "html -o -",
    "export -o - --format pprof",
    "export -o - --format folded",
    "export -o - --format callgrind",
    "export -o - --format massif",
    "export -o - --format heaptrack",
    "export -o - --format speedscope",
    "export -o - --format firefox",
    "export -o - --format syscap",
    "export -o - --format perfetto",
    "export -o - --format csv",
    "export -o - --format dot",
    "export -o - --format flamegraph",
];

/// Numbers in a row that looks random.
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    fn number(&mut self) -> u64 {
        NUMBERS[self.next(NUMBERS.len())]
    }
}

/// Writes a capture of many events of every kind, in any order, with such numbers.
fn write(seed: u64, file: &Path) {
    let mut dice = Dice(seed);
    let metadata = Metadata {
        sample_interval: if dice.next(3) == 0 { dice.number() } else { 0 },
        started_unix_ns: dice.number(),
        options: vec![(FREE_STACKS.into(), (seed > 0).to_string())],
        ..Metadata::default()
    };
    let mut writer = Writer::create(file, Create::New, &metadata).unwrap();
    let name = writer.string("app").unwrap();
    let (mut threads, mut tasks, mut stacks) = (Vec::new(), Vec::new(), vec![NodeId::ROOT]);
    for _ in 0..3 {
        let end = (dice.next(2) == 0).then(|| ProcessEnd { ended: Ended::Exited(-1), time: dice.number() });
        let start_ticks = dice.number();
        let row = Process { pid: 7, start_ticks, end, attached: dice.next(4) == 0, ..Process::default() };
        let process = writer.process(row).unwrap();
        threads.push(writer.thread(Thread { process, tid: 7, name: String::new() }).unwrap());
        let task = Task { pid: 7, tid: 7, name: "app".into(), process: Some(process) };
        tasks.push(writer.task(task).unwrap());
        let address = dice.number();
        let frame = writer.frame(Frame::Code { module: None, address, exact: false }).unwrap();
        let above = stacks[dice.next(stacks.len())];
        stacks.push(writer.node(above, frame).unwrap());
    }
    let mut time = 0_u64;
    for _ in 0..60 {
        time = time.saturating_add(if dice.next(3) == 0 { dice.number() / 7 } else { 1000 });
        let thread = threads[dice.next(threads.len())];
        let stack = stacks[dice.next(stacks.len())];
        let (address, old, size, alignment) = (dice.number(), dice.number(), dice.number(), dice.number());
        let process = ProcessId(dice.next(3) as u32);
        let serial = dice.next(2) as u16;
        let action = match dice.next(22) {
            0..=4 => Action::Alloc { address, size, alignment, stack },
            5..=6 => Action::Free { address, stack: NodeId::ROOT },
            7 => Action::ReallocBegin { address, serial },
            8 => {
                let outcome = match dice.next(3) {
                    0 => ReallocOutcome::Block { address, size, stack },
                    1 => ReallocOutcome::Failed,
                    _ => ReallocOutcome::Freed,
                };
                Action::ReallocEnd { serial, outcome }
            }
            9 => Action::Map { address, length: size, stack, in_hook: dice.next(2) == 0 },
            10 => Action::Unmap { address, length: size },
            11 => Action::UnmapFailed { address, length: size },
            12 => Action::Remap { old_address: old, old_length: alignment, address, length: size, stack },
            13 => Action::Break { from: old, address, stack, in_hook: dice.next(2) == 0 },
            14 => Action::ProcessStart { process, fork: dice.next(3) as u32 },
            15 => Action::Fork { fork: 1 + dice.next(2) as u32 },
            16 => Action::ProcessEnd { process },
            17 => Action::GapBegin,
            18 => Action::GapEnd { allocations: size, frees: address },
            19 => [Action::Pause, Action::Resume, Action::Unsampled][dice.next(3)],
            20 => match dice.next(3) {
                0 => Action::PoolAlloc { pool: name, address, size, stack },
                1 => Action::PoolFree { pool: name, address },
                _ => Action::PoolRealloc { pool: name, old, address, size, stack },
            },
            _ => {
                let row = Mark { time: dice.number(), thread, kind: MarkKind::Instant, name };
                Action::Mark { mark: writer.mark(row).unwrap() }
            }
        };
        writer.event(Event { time, thread, action }).unwrap();
        let kinds = [CounterKind::Rss, CounterKind::UserTime, CounterKind::CpuBusy, CounterKind::MinorFaults];
        let (kind, value) = (kinds[dice.next(kinds.len())], dice.number());
        writer.counter(Counter { time, process: Some(process), kind, instance: 0, value }).unwrap();
        let (task, weight) = (tasks[dice.next(tasks.len())], dice.number());
        writer.sample(Sample { time: dice.number(), task, cpu: 0, stack, weight }).unwrap();
        let region = Region::ALL[dice.next(Region::ALL.len())];
        let (time, address) = (dice.number(), dice.number());
        writer.fault(Fault { time, task, address, stack, region }).unwrap();
        if dice.next(8) == 0 {
            writer.flush().unwrap();
        }
    }
    let duration_ns = if dice.next(2) == 0 { time } else { dice.number() };
    let faults = FaultSummary {
        is_recorded: true,
        huge_pages: "always".into(),
        page_bytes: dice.number(),
        huge_page_bytes: dice.number(),
        ..FaultSummary::default()
    };
    writer.finish(&Summary { duration_ns, faults, ..Summary::default() }).unwrap();
}

/// Check that each view of such a capture shows something, or says in words what is missing: none stops on the way, as
/// careless arithmetic would have it. In the third capture, sums of bytes pass the largest number.
#[test]
fn impossible_numbers_stop_no_view() {
    let world = World::new();
    for seed in [0, 1, 127] {
        let file = world.path(&format!("{seed}.memprof"));
        write(seed, &file);
        for view in VIEWS {
            let mut tool = world.tool(view.split(' '));
            let output = tool.arg(&file).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            let expected = match output.status.code() {
                Some(0) => true,
                // Broken, or not to be told of such estimates.
                Some(1 | 2) if view.starts_with("check") => true,
                Some(2) => said.starts_with("sysprof-memprof: error: "),
                _ => false,
            };
            assert!(expected, "{seed} {view}: {:?} {said}", output.status);
        }
    }
}
