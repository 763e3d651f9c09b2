//! How fast questions about a large capture are answered: `cargo bench -p viewer-tests --bench moments -- EVENTS LIVE`. Makes a
//! capture of eight threads that allocate and free in random order, then measures the first look at it, a pass over all
//! events, and moments, each with a fresh start as a command has it. Prints a row of Markdown, in seconds that pass, since two threads
//! share the work; of the first look also those of all processors, which tell a busy machine.

mod support;

use analysis::query::{Part, Query};
use analysis::{Counting, Profile, ProfileBuilder};
use capture::{
    Action, Chunk, ChunkKind, Event, Frame, FrameId, Metadata, NodeId, Process, Reader, Summary, Thread,
    ThreadId, Writer,
};
use engine::Analyzer;
use std::path::Path;
use std::time::{Duration, Instant};
use support::{Random, peak_mib, process_cpu_time};

const STACKS: u64 = 100_000;
const MOMENTS: u32 = 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse::<u64>().ok());
    let (events, live) = (numbers.next().unwrap_or(10_000_000), numbers.next().unwrap_or(100_000));
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("large.memprof");
    generate(&path, events, live)?;
    let before = peak_mib();
    let cpu_before = process_cpu_time();
    let (first, whole) = measured(|| ask(&path, Part::Whole));
    let first_cpu = process_cpu_time() - cpu_before;
    let (later, again) = measured(|| count(&path));
    assert_eq!(whole.total, again.total, "the recording has stored what a pass finds");
    let mut analyzer: Vec<Duration> = (0..MOMENTS)
        .map(|place| {
            let when = format!("{}%", f64::from(place) * 100.0 / f64::from(MOMENTS) + 2.3);
            measured(|| ask(&path, Part::At(when.parse().expect("a share")))).0
        })
        .collect();
    analyzer.sort();
    let peak = measured(|| ask(&path, Part::At("peak".parse().expect("a moment")))).0;
    let reader = Reader::open(&path)?;
    let is_stored = |chunk: &&Chunk| matches!(chunk.kind(), Some(ChunkKind::State | ChunkKind::Results));
    let stored: u64 = reader.index().iter().filter(is_stored).map(Chunk::length).sum();
    println!(
        "| events | live blocks | capture, MB | of these results and states | first, s | of CPU, s | a pass, s | a moment, s | slowest, s | peak, s | memory, MiB | before, MiB |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    println!(
        "| {events} | {live} | {} | {} | {:.1} | {:.1} | {:.3} | {:.3} | {:.3} | {:.3} | {} | {before} |",
        std::fs::metadata(&path)?.len() >> 20,
        stored >> 20,
        first.as_secs_f64(),
        first_cpu.as_secs_f64(),
        later.as_secs_f64(),
        analyzer[analyzer.len() / 2].as_secs_f64(),
        analyzer[analyzer.len() - 1].as_secs_f64(),
        peak.as_secs_f64(),
        peak_mib(),
    );
    Ok(())
}

/// A pass over all events.
fn count(path: &Path) -> Profile {
    let reader = Reader::open(path).expect("the capture is there");
    let mut builder = ProfileBuilder::new(reader.tables());
    let chunks = 0..reader.index().len();
    let read = reader.for_each_batch_ahead(chunks, |_, events| {
        builder.events(events);
        true
    });
    read.expect("it is whole");
    builder.finish()
}

fn ask(path: &Path, part: Part) -> Profile {
    let mut analyzer = Analyzer::open(path).expect("the capture is there");
    analyzer.profile(&Query::of(part)).expect("the moment is there")
}

fn generate(path: &Path, events: u64, live: u64) -> Result<(), capture::Error> {
    let metadata = Metadata::default();
    let file = std::fs::File::create(path).expect("the folder is there");
    let mut writer = Writer::observed(file, &metadata, Counting::new(&metadata))?;
    let process = writer.process(Process { pid: 1, ..Process::default() })?;
    for tid in 0..8 {
        writer.thread(Thread { process, tid, name: String::new() })?;
    }
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let frames: Vec<FrameId> = (0..5_000)
        .map(|address| {
            writer.frame(Frame::Code { module: None, address: 0x1000 + address * 16, exact: false })
        })
        .collect::<Result<_, _>>()?;
    let mut stacks = vec![NodeId::ROOT];
    for _ in 0..STACKS {
        let parent = stacks[random.below(stacks.len() as u64) as usize];
        stacks.push(writer.node(parent, frames[random.below(5_000) as usize])?);
    }
    let start = Event { time: 0, thread: ThreadId(0), action: Action::ProcessStart { process, fork: 0 } };
    writer.event(start)?;
    let mut blocks = vec![0_u64; 2 * live as usize];
    let mut free = Vec::new();
    let mut next = 0x7f00_0000_0000_u64;
    for number in 1..events {
        let thread = ThreadId(random.below(8) as u32);
        let slot = random.below(blocks.len() as u64) as usize;
        let action = match std::mem::take(&mut blocks[slot]) {
            0 => {
                let address = free.pop().unwrap_or_else(|| {
                    next += 64;
                    next
                });
                blocks[slot] = address;
                let stack = stacks[random.below(STACKS) as usize + 1];
                Action::Alloc { address, size: random.below(500), alignment: 0, stack }
            }
            address => {
                free.push(address);
                Action::Free { address, stack: NodeId::ROOT }
            }
        };
        writer.event(Event { time: number * 100, thread, action })?;
    }
    writer.finish(&Summary { duration_ns: events * 100, ..Summary::default() })?;
    Ok(())
}

/// What something gives, and the time that it takes.
fn measured<T>(what: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = what();
    (start.elapsed(), result)
}
