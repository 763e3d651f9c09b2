//! How fast a graph of blocks is made and asked, and how soon either is given up. Run with `cargo bench -p viewer-tests --bench graph`; figures are CPU time of the
//! machine it runs on, and the most memory that the process had up to there.

mod support;

use capture::{NodeId, ThreadId};
use heap_graph::{GraphBuilder, HeapGraph, HeldBlock, Pace, Rank, RootId, Source};
use std::cell::Cell;
use std::time::Duration;
use support::{Random, cpu_time, peak_mib};

const BLOCKS: u64 = 5_000_000;
const STACKS: u64 = 10_000;
const ROOTS: u64 = 1_000;
const LIMIT: Duration = Duration::from_secs(60);
/// How long whoever gives up may wait.
const PATIENCE: Duration = Duration::from_millis(100);

/// Which blocks the pointers of a block lead to.
type Shape = fn(u64, &mut Random) -> [u64; 3];

fn main() {
    // Objects that refer to others of the same age, as most do; to any; a list that goes all over the heap.
    measure("near", |block, random| {
        [block + 1, block + random.below(64), block + BLOCKS - random.below(1000)].map(|to| to % BLOCKS)
    });
    measure("random", |_, random| [(); 3].map(|()| random.below(BLOCKS)));
    measure("list", |block, _| {
        let next = |block: u64| (block * 2_654_435_761 + 12_345) % BLOCKS;
        [next(block), next(next(block)), block]
    });
}

fn measure(name: &str, shape: Shape) {
    let start = cpu_time();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let block = |place: u64| HeldBlock {
        address: address(place),
        size: 40,
        node: NodeId((place * 7919 % STACKS) as u32),
        thread: ThreadId(0),
    };
    let mut builder = GraphBuilder::new((0..BLOCKS).map(block).collect());
    for root in 0..ROOTS {
        let to = address(random.below(BLOCKS));
        builder.pointer(root * 8, to, |from| Source::Root {
            root: RootId((from / 8) as u32),
            rank: Rank::Lasting,
            exact: false,
        });
    }
    for place in 0..BLOCKS {
        for (word, to) in shape(place, &mut random).into_iter().enumerate() {
            builder.pointer(address(place) + word as u64 * 8, address(to) + 16, |_| Source::Ignored);
        }
    }
    let read = cpu_time();
    // When it was asked last whether anybody waits, and the longest time between two of these questions.
    let (asked, longest) = (Cell::new(cpu_time()), Cell::new(Duration::ZERO));
    let is_wanted = || {
        longest.set(longest.get().max(cpu_time() - asked.replace(cpu_time())));
        true
    };
    let pace = Pace::while_wanted(&is_wanted);
    let graph = builder.finish_at(&pace).expect("it is wanted");
    let made = cpu_time();
    is_wanted();
    println!(
        "{name}: {} links; read {}, dominators {}, given up within {:.0} ms, peak {} MiB",
        graph.figures().links,
        seconds(read - start),
        seconds(made - read),
        longest.get().as_secs_f64() * 1e3,
        peak_mib()
    );
    let timed = |ask: &dyn Fn(&HeapGraph) -> Option<usize>| {
        let start = cpu_time();
        asked.set(start);
        let rows = ask(&graph).expect("it is wanted");
        is_wanted();
        format!("{} ({rows} rows)", seconds(cpu_time() - start))
    };
    let retained = timed(&|graph| Some(graph.retained_at(&pace)?.stacks.len()));
    let several = timed(&|graph| Some(graph.several_at(&pace)?.roots.len()));
    let unreachable = timed(&|graph| Some(graph.unreachable_at(&pace)?.heads.len()));
    let least = graph.figures().reachable.bytes / 1000;
    let tree = timed(&|graph| Some(graph.tree_at(least, 50, &pace)?.rows.len()));
    println!(
        "{name}: retained {retained}, several roots {several}, unreachable {unreachable}, tree from 0.1 % {tree}, given up within {:.0} ms, peak {} MiB",
        longest.get().as_secs_f64() * 1e3,
        peak_mib()
    );
    let all = cpu_time() - start;
    assert!(all < LIMIT, "{name} took {all:?}");
    assert!(longest.get() < PATIENCE, "{name}: it is given up after {:?} only", longest.get());
}

/// Where a block lies: each fills 48 bytes, and each tenth part of them is a mapping of its own.
fn address(block: u64) -> u64 {
    let part = block / (BLOCKS / 10);
    0x5500_0000_0000 + part * (1 << 40) + block * 48
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}
