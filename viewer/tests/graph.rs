//! Which block keeps which alive: the events of a capture and its scans together.

use crate::shown;
use crate::support::Made;
use analysis::query::{Pattern, Query, Selected};
use analysis::{Amount, Profile};
use capture::{Action, Area, AreaKind, Ended, Process, ProcessId, StringId, ThreadId};
use engine::lens::Lens;
use engine::suppression::Suppressions;
use engine::{Analyzer, Error, Naming};
use heap_graph::{Scanned, WhichScan};

const HEAP: u64 = 0x5555_0000_0000;
const ARENA: u64 = 0x7f00_0000_0000;
const OWN: u64 = 0x7f10_0000_0000;
const THREADS: u64 = 0x7f18_0000_0000;
const DATA: u64 = 0x7f20_0000_0000;
const LIBC: u64 = 0x7f30_0000_0000;
const STACK: u64 = 0x7fff_0000_0000;

/// A process of which all kinds of memory refer to blocks, scanned.
///
/// | block | refers to it |
/// |---|---|
/// | heap + 0x10 | a variable |
/// | heap + 0x40 | the block before, into its middle |
/// | heap + 0x80 | what is left of freed blocks, in the heap and in the arena |
/// | heap + 0xC0 | libc's variables, into its middle |
/// | arena + 0x10 | the stack, and memory that the program has mapped |
/// | arena + 0x80 | nobody |
/// | threads + 0x900 | what is left of freed blocks in an arena of glibc's that no event tells of |
/// | heap + 0x300 | nobody, but a thread runs on it |
/// | heap + 0x400 | the block before, on which the thread runs |
fn made(row: Process) -> (Made, ProcessId) {
    let mut made = Made::new();
    let (process, thread) = made.process_row(row);
    let (other, other_thread) = made.process("other");
    let stack = made.stack("main > make");
    let map = |address, in_hook| Action::Map { address, length: 0x1000, stack, in_hook };
    made.event(thread, map(ARENA, true));
    made.event(thread, map(OWN, false));
    for address in [HEAP + 0x10, HEAP + 0x40, HEAP + 0x80, HEAP + 0xC0, ARENA + 0x10, ARENA + 0x80] {
        made.alloc(thread, address, 32, stack);
        // Its own, at the same place.
        made.alloc(other_thread, address, 1000, stack);
    }
    for (address, size) in [(HEAP + 0x300, 0x80), (HEAP + 0x400, 32), (THREADS + 0x900, 32)] {
        made.alloc(thread, address, size, stack);
    }
    made.alloc(thread, HEAP + 0x500, 5000, stack);
    made.free(thread, HEAP + 0x500);
    let [app, libc, nothing] = ["/bin/app", "/lib/libc.so.6", ""].map(|name| made.string(name));
    let area =
        |start, kind, tid, name: StringId| Area { start, end: start + 0x1000, kind, tid, name, base: 0 };
    let areas = [
        Area { end: HEAP + 0x300, ..area(HEAP, AreaKind::Heap, 0, nothing) },
        Area { end: HEAP + 0x380, ..area(HEAP + 0x300, AreaKind::Stack, 5001, nothing) },
        area(HEAP + 0x380, AreaKind::Heap, 0, nothing),
        area(ARENA, AreaKind::Anonymous, 0, nothing),
        area(OWN, AreaKind::Anonymous, 0, nothing),
        area(THREADS, AreaKind::Anonymous, 0, nothing),
        area(DATA, AreaKind::Variables, 0, app),
        area(LIBC, AreaKind::Variables, 0, libc),
        area(STACK, AreaKind::Stack, 5000, nothing),
    ];
    let pointers = [
        (HEAP + 0x18, HEAP + 0x48),
        (HEAP + 0x108, HEAP + 0x80),
        (HEAP + 0x300, HEAP + 0x340),
        (HEAP + 0x308, HEAP + 0x400),
        (ARENA + 0x200, HEAP + 0x80),
        (OWN + 8, ARENA + 0x10),
        (THREADS, THREADS + 0x30),
        (THREADS + 0x800, THREADS + 0x900),
        (DATA + 8, HEAP + 0x10),
        (LIBC + 8, HEAP + 0xC0 + 24),
        (STACK + 8, ARENA + 0x20),
        // Where no area is.
        (0x1000, ARENA + 0x80),
    ];
    made.scan(process, &areas, &pointers);
    made.alloc(thread, HEAP + 0x200, 64, stack);
    made.free(thread, HEAP + 0x10);
    made.scan(other, &[], &[]);
    made.end(process, thread, Ended::Exited(0));
    (made, process)
}

fn graph(made: &Made, which: WhichScan) -> Result<Scanned, Error> {
    let path = made.saved("app.memprof");
    let (_, scanned) = Analyzer::open(&path)?.graph(&which, Naming::Stored)?;
    Ok(scanned)
}

fn unreachable(scanned: &Scanned) -> Vec<u64> {
    let heads = scanned.graph.unreachable().heads;
    heads.iter().map(|head| scanned.graph.blocks()[head.block.index()].address).collect()
}

/// Check that blocks are those of the process and of the moment, that what the allocator keeps holds nothing, and that libc's own
/// variables hold by exact pointers only.
#[test]
fn memory_is_what_it_was_mapped_for() {
    let (made, _) = made(Process::default());
    let scanned = graph(&made, WhichScan::Number(1)).unwrap();
    let figures = scanned.graph.figures();
    assert_eq!((figures.blocks.blocks, figures.blocks.bytes), (9, 8 * 32 + 0x80));
    assert_eq!(unreachable(&scanned), [HEAP + 0x80, HEAP + 0xC0, ARENA + 0x80, THREADS + 0x900]);
    let retained = scanned.graph.retained();
    let roots: Vec<(&str, i64)> =
        retained.roots.iter().map(|row| (&*scanned.roots[row.root.0 as usize], row.retained.bytes)).collect();
    assert_eq!(
        roots,
        [
            ("stack of thread 5001", 0x80 + 32),
            ("variables of app", 64),
            ("mapped memory", 32),
            ("stack of thread 5000", 0)
        ],
        "the stack takes nothing from what the memory holds"
    );
    assert_eq!(retained.several.bytes, 0);
    assert!(!scanned.is_partial);
}

/// Check that what was unreachable takes the place of what leaked, and of all that is shown beside it.
#[test]
fn unreachable_blocks_take_the_place_of_leaks() {
    let (mut made, process) = made(Process::default());
    made.event(ThreadId(1), Action::ReallocBegin { address: HEAP + 0x10, serial: 1 });
    let path = made.saved("app.memprof");
    let leaked = Analyzer::open(&path).unwrap().profile(&Query::default()).unwrap();
    assert_eq!(leaked.processes[1].in_realloc, Amount { blocks: 1, bytes: 1000 });
    let (lens, rules) = (Lens::default(), Suppressions::default());
    let Profile { sites, total, processes, .. } =
        Analyzer::open(&path).unwrap().unreachable(&lens, &rules, Naming::Stored).unwrap().profile;
    // Four blocks of the first process, and two of the other one, in which the rest of its blocks lies.
    let amount = |blocks, bytes| Amount { blocks, bytes };
    assert_eq!(total.leaked, amount(6, 4 * 32 + 2 * 1000));
    let of_first = sites.iter().filter(|site| site.process == process);
    assert_eq!(of_first.fold(Amount::ZERO, |sum, site| sum + site.cost.leaked), amount(4, 4 * 32));
    assert!(processes.iter().all(|process| process.in_realloc.is_zero()));
}

/// Check that of processes whose first blocks are not known all memory holds, since it may be theirs.
#[test]
fn unknown_blocks_may_hold_others() {
    for row in
        [Process { attached: true, ..Process::default() }, Process { forked: true, ..Process::default() }]
    {
        let scanned = graph(&made(row).0, WhichScan::Number(1)).unwrap();
        assert!(scanned.is_partial);
        assert_eq!(unreachable(&scanned), [HEAP + 0xC0, ARENA + 0x80]);
    }
}

/// Check that a program which has moved the end of the heap itself may hold blocks from there.
#[test]
fn own_part_of_the_heap_may_hold_blocks() {
    let (mut made, process) = made(Process::default());
    let thread = made.tables.threads.iter().position(|thread| thread.process == process).unwrap();
    let action = Action::Break {
        from: HEAP,
        address: HEAP + 0x1000,
        stack: made.stack("main > grow"),
        in_hook: false,
    };
    made.events.insert(
        4,
        capture::Event { time: made.events[3].time, thread: ThreadId::from_index(thread), action },
    );
    assert_eq!(
        unreachable(&graph(&made, WhichScan::Number(1)).unwrap()),
        [HEAP + 0xC0, ARENA + 0x80, THREADS + 0x900]
    );
}

/// Check that scans are listed with their numbers, which other views take.
#[test]
fn scans_are_listed() {
    let path = made(Process { name: "app".into(), ..Process::default() }).0.saved("app.memprof");
    let loaded = engine::open(&path, Naming::Stored).unwrap();
    let text = shown::info(&loaded, None, &Default::default());
    let (_, scans) = text.split_once("\nScans\n").unwrap();
    let expected = "
      scan       after    searched  stopped for  process
         1     21.0 ms         0 B       500 µs  app (1000)
         2     23.0 ms         0 B       500 µs  other (1001)
";
    assert_eq!(scans.lines().take(3).collect::<Vec<_>>().join("\n"), expected.trim_matches('\n'));
}

/// Check that the last scan is taken unless one is named, and that one that is not there is told from those that are.
#[test]
fn scans_are_numbered() {
    let (mut made, process) = made(Process { name: "app".into(), ..Process::default() });
    let last = graph(&made, WhichScan::Last).unwrap();
    assert_eq!((last.number, last.count, last.scan.process != process), (2, 2, true));
    let error = |made: &Made, which| graph(made, which).unwrap_err().to_string();
    assert!(
        error(&made, WhichScan::Number(3)).contains("has 2 scans, and no number 3"),
        "{}",
        error(&made, WhichScan::Number(3))
    );
    assert!(error(&made, WhichScan::Number(0)).contains("no number 0"));
    let of = |name: &str| graph(&made, WhichScan::Of(Selected::Name(Pattern::glob(name))));
    assert_eq!((of("app").unwrap().number, of("other").unwrap().number), (1, 2));
    assert!(matches!(of("nobody").unwrap_err(), Error::Unknown(_)));
    made.tables.scans.truncate(1);
    let other = WhichScan::Of(Selected::Id(1001));
    assert!(error(&made, other).contains("has no scan of this process, only of others"));
    made.tables.scans.clear();
    assert!(error(&made, WhichScan::Last).contains("app.memprof has no memory scan: sysprof-memprof scan"));
}

/// Check that the graphs of several scans, of one process too, are those of each alone.
#[test]
fn scans_are_looked_at_together() {
    let (mut made, process) = made(Process::default());
    made.scan(process, &[], &[]);
    let path = made.saved("app.memprof");
    let mut analyzer = Analyzer::open(&path).unwrap();
    assert_eq!(analyzer.tables().scans.len(), 3);
    let mut found = Vec::new();
    analyzer
        .each_scan(&[2, 0, 1, 9], &Naming::Stored, |scanned| {
            found.push((
                scanned.number,
                scanned.graph.figures(),
                scanned.graph.retained(),
                scanned.freed_later(),
            ));
            Ok(())
        })
        .unwrap();
    found.sort_by_key(|(number, ..)| *number);
    assert_eq!(found.len(), 3);
    for (number, figures, retained, freed) in found {
        let alone = graph(&made, WhichScan::Number(number)).unwrap();
        assert_eq!((figures, retained), (alone.graph.figures(), alone.graph.retained()), "{number}");
        assert_eq!(freed, alone.freed_later(), "{number}");
    }
}
