//! How fast a capture is counted and its trees are built. Run with `cargo bench -p viewer-tests`; figures are CPU time of
//! the machine it runs on. It fails when a tree takes longer than people would wait for.

mod support;

use analysis::{Metric, Names, Profile, ProfileBuilder, Tree, functions};
use capture::{Action, Event, Frame, FrameId, Node, NodeId, Process, ProcessId, Tables, Thread, ThreadId};
use std::time::Duration;
use support::{Random, cpu_time};

const EVENTS: usize = 10_000_000;
const BATCH: usize = 1 << 18;
const TRACES: u32 = 1_000_000;
const DEPTH: u32 = 100;
const FORKS: usize = 1_000;
const HEAP: u64 = 100_000;
const TREE_LIMIT: Duration = Duration::from_secs(2);

fn main() {
    for live in [1_000, 100_000, 1_000_000] {
        let (elapsed, profile) = count(live);
        let rate = EVENTS as f64 / elapsed.as_secs_f64() / 1e6;
        println!("load: {rate:.1} M events/s with {live} live blocks, {} rows", profile.sites.len());
    }
    let start = cpu_time();
    let inherited = fork_often();
    println!(
        "forks: {:.2} s for {FORKS} living children of {HEAP} blocks, {inherited} inherited frees",
        (cpu_time() - start).as_secs_f64()
    );
    let (tables, profile) = traces();
    let start = cpu_time();
    let names = Names::new(&tables);
    println!("names: {:.2} s for {} frames", (cpu_time() - start).as_secs_f64(), tables.frames.len());
    let build = || {
        let start = cpu_time();
        (Tree::top_down(&profile, &tables, &names, Metric::Bytes), cpu_time() - start)
    };
    // The best of three: other programs of the machine only ever add to it.
    let (tree, top_down) = (0..3).map(|_| build()).min_by_key(|(_, elapsed)| *elapsed).expect("three runs");
    let (seconds, nodes) = (top_down.as_secs_f64(), tree.len());
    println!("top-down: {seconds:.2} s for {TRACES} traces of depth {DEPTH}, {nodes} nodes");
    let start = cpu_time();
    let functions = functions(&tree, &names).len();
    println!("functions: {:.2} s for {functions}", (cpu_time() - start).as_secs_f64());
    let start = cpu_time();
    let least = profile.total.allocated.bytes / 100;
    let inverted = Tree::inverted(&profile, &tables, &names, Metric::Bytes, least);
    println!("inverted from 1 %: {:.2} s, {} nodes", (cpu_time() - start).as_secs_f64(), inverted.len());
    assert!(top_down < TREE_LIMIT, "a top-down tree took {top_down:?}");
}

/// Eight threads that allocate and free in random order, around so many live blocks.
fn count(live: usize) -> (Duration, Profile) {
    let mut tables = Tables::default();
    tables.processes.push(Process::default());
    tables.threads.extend((0..8).map(|tid| Thread { process: ProcessId(0), tid, ..Thread::default() }));
    tables.nodes.extend((0..10_000).map(|_| Node { parent: NodeId::ROOT, frame: FrameId(0) }));
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut blocks = vec![0_u64; live];
    let mut builder = ProfileBuilder::new(&tables);
    let mut elapsed = Duration::ZERO;
    let mut batch = Vec::with_capacity(BATCH);
    let mut next = 0x7f00_0000_0000_u64;
    let mut free_list = Vec::new();
    for time in 0..EVENTS {
        let thread = ThreadId(random.below(8) as u32);
        let slot = random.below(live as u64) as usize;
        let action = if blocks[slot] == 0 {
            let address = free_list.pop().unwrap_or_else(|| {
                next += 64;
                next
            });
            blocks[slot] = address;
            let stack = NodeId(random.below(10_000) as u32);
            Action::Alloc { address, size: random.below(500), alignment: 0, stack }
        } else {
            free_list.push(blocks[slot]);
            Action::Free { address: std::mem::take(&mut blocks[slot]), stack: NodeId::ROOT }
        };
        batch.push(Event { time: time as u64, thread, action });
        if batch.len() == BATCH || time + 1 == EVENTS {
            let start = cpu_time();
            builder.events(&batch);
            elapsed += cpu_time() - start;
            batch.clear();
        }
    }
    (elapsed, builder.finish())
}

/// A process that holds many blocks, changes a hundred of them between forks, and whose children all live to the
/// end and free a few that they inherited.
fn fork_often() -> u64 {
    let mut tables = Tables::default();
    tables.processes.push(Process::default());
    let child = || Process { parent: Some(ProcessId(0)), forked: true, ..Process::default() };
    tables.processes.extend((0..FORKS).map(|_| child()));
    let thread = |process| Thread { process: ProcessId::from_index(process), ..Thread::default() };
    tables.threads.extend((0..=FORKS).map(thread));
    let mut builder = ProfileBuilder::new(&tables);
    let mut event = |thread: usize, action| {
        builder.event(&Event { time: 0, thread: ThreadId::from_index(thread), action });
    };
    let alloc =
        |block: u64| Action::Alloc { address: block * 16, size: 16, alignment: 0, stack: NodeId::ROOT };
    let free = |block: u64| Action::Free { address: block * 16, stack: NodeId::ROOT };
    (1..=HEAP).for_each(|block| event(0, alloc(block)));
    for fork in 1..=FORKS {
        event(fork, Action::ProcessStart { process: ProcessId::from_index(fork), fork: 0 });
        for block in 1..=100 {
            let block = block * (fork as u64) % HEAP + 1;
            event(0, free(block));
            event(0, alloc(block));
        }
    }
    for fork in 1..=FORKS {
        (1..=100).for_each(|block| event(fork, free(block * 7)));
    }
    builder.finish().anomalies().inherited_frees
}

/// A million stacks of depth 100, which share their outer frames as those of programs do: each differs from the
/// one before in its innermost two to four frames, and all of them in every fiftieth step.
fn traces() -> (Tables, Profile) {
    let mut tables = Tables::default();
    tables.processes.push(Process { name: "app".to_owned(), ..Process::default() });
    tables.threads.push(Thread::default());
    tables.frames.extend((0..50_000).map(|address| Frame::Code { module: None, address, exact: false }));
    symbolize(&mut tables);
    tables.nodes.push(Node { parent: NodeId::ROOT, frame: FrameId(0) });
    let mut random = Random(1);
    let mut path = vec![NodeId::ROOT];
    let mut leaves = Vec::new();
    for trace in 0..TRACES {
        let keep =
            if trace % 50 == 0 { random.below(DEPTH.into()) } else { u64::from(DEPTH) - 2 - random.below(3) };
        path.truncate(keep as usize + 1);
        while path.len() <= DEPTH as usize {
            let parent = *path.last().expect("the root stays");
            tables.nodes.push(Node { parent, frame: FrameId(random.below(50_000) as u32) });
            path.push(NodeId::from_index(tables.nodes.len() - 1));
        }
        leaves.push(*path.last().expect("the root stays"));
    }
    let mut builder = ProfileBuilder::new(&tables);
    for (index, stack) in leaves.into_iter().enumerate() {
        let address = 0x1000 + index as u64 * 16;
        let action = Action::Alloc { address, size: 16, alignment: 0, stack };
        builder.event(&Event { time: index as u64, thread: ThreadId(0), action });
    }
    let profile = builder.finish();
    (tables, profile)
}

/// Gives every frame a function; five frames share one.
fn symbolize(tables: &mut Tables) {
    for frame in 0..tables.frames.len() {
        tables.strings.push(format!("function_{}", frame / 5));
        let function = Some(capture::StringId::from_index(frame));
        let names = vec![capture::SourceFrame { function, ..Default::default() }];
        let frame = FrameId::from_index(frame);
        tables.symbols.push(Some(capture::Symbolized { frame, names, ..capture::Symbolized::default() }));
    }
}
