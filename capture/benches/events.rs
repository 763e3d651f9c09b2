//! Measures size and speed: `cargo bench -p capture`. Prints one line per stream.
//!
//! The streams are real allocations of this process, so the addresses are an allocator's, in typical patterns: loops
//! over a few call sites, temporaries, long-lived blocks, several threads in turns.

use std::hint::black_box;
use std::time::{Duration, Instant};

use capture::{Action, Event, Frame, Metadata, NodeId, Process, Reader, Summary, Thread, ThreadId, Writer};

const EVENTS: usize = 4_000_000;
const ROUNDS: usize = 3;

fn main() {
    let streams = [
        Stream { name: "one thread, 300 sites", threads: 1, sites: 300, varied: 2 },
        Stream { name: "one thread, 20,000 sites", threads: 1, sites: 20_000, varied: 2 },
        Stream { name: "eight threads in turns", threads: 8, sites: 300, varied: 2 },
        Stream { name: "sizes without pattern", threads: 1, sites: 300, varied: 10 },
    ];
    println!(
        "{:26} {:>12} {:>12} {:>14} {:>9}",
        "stream", "bytes/event", "write ns", "read Mevents/s", "open ms"
    );
    for stream in streams {
        let events = stream.events();
        let (file, writing) = best(|| write(&events, &stream));
        let (reader, opening) = best(|| Reader::from_source(file.as_slice()).expect("a whole file"));
        let (sum, reading) = best(|| read(&reader));
        black_box(sum);
        let each = |time: Duration| time.as_secs_f64() / events.len() as f64;
        println!(
            "{:26} {:12.3} {:12.1} {:14.1} {:9.2}",
            stream.name,
            file.len() as f64 / events.len() as f64,
            each(writing) * 1e9,
            1e-6 / each(reading),
            opening.as_secs_f64() * 1e3,
        );
    }
}

/// The last result and the shortest time of several rounds.
fn best<T>(mut work: impl FnMut() -> T) -> (T, Duration) {
    let mut shortest = Duration::MAX;
    let mut result = None;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        result = Some(black_box(work()));
        shortest = shortest.min(start.elapsed());
    }
    (result.expect("at least one round"), shortest)
}

fn write(events: &[Event], stream: &Stream) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Metadata::default()).expect("memory takes every write");
    let process = writer.process(Process::default()).expect("a row");
    for tid in 0..stream.threads {
        writer.thread(Thread { process, tid, name: String::new() }).expect("a row");
    }
    let mut parents = vec![NodeId::ROOT];
    for site in 0..stream.sites {
        let frame = Frame::Code { module: None, address: u64::from(site) * 37, exact: false };
        let frame = writer.frame(frame).expect("a row");
        parents.push(writer.node(parents[site as usize / 2], frame).expect("a row"));
    }
    events.iter().for_each(|&event| writer.event(event).expect("an event in range"));
    writer.finish(&Summary::default()).expect("memory takes every write")
}

fn read(reader: &Reader<&[u8]>) -> u64 {
    let mut sum = 0;
    let add = |batch: &[Event]| {
        for event in batch {
            if let Action::Alloc { size, .. } = event.action {
                sum += size;
            }
        }
    };
    reader.for_each_batch(add).expect("a whole file");
    sum
}

/// A synthetic program.
struct Stream {
    name: &'static str,
    threads: u32,
    sites: u32,
    /// How many of ten call sites ask for a different size each time.
    varied: u64,
}

impl Stream {
    fn events(&self) -> Vec<Event> {
        let mut random = Random(1);
        let mut recorder =
            Recorder { events: Vec::with_capacity(EVENTS + 2000), time: 0, thread: ThreadId(0) };
        let mut long_lived: Vec<Vec<u8>> = Vec::new();
        while recorder.events.len() < EVENTS {
            recorder.thread = ThreadId(random.below(self.threads.into()) as u32);
            let body: Vec<u64> = (0..2 + random.below(10)).map(|_| random.below(self.sites.into())).collect();
            for _ in 0..20 + random.below(100) {
                let mut temporaries = Vec::new();
                for &site in &body {
                    let block = recorder.alloc(site, self.size(site, &mut random), &mut random);
                    match site % 8 {
                        0 => long_lived.push(block),
                        1..3 => recorder.free(block, &mut random),
                        _ => temporaries.push(block),
                    }
                }
                while let Some(block) = temporaries.pop() {
                    recorder.free(block, &mut random);
                }
                while long_lived.len() > 20_000 {
                    let victim = random.below(long_lived.len() as u64) as usize;
                    recorder.free(long_lived.swap_remove(victim), &mut random);
                }
            }
        }
        recorder.events.truncate(EVENTS);
        recorder.events
    }

    fn size(&self, site: u64, random: &mut Random) -> usize {
        let usual = 16 + site * 7919 % 400;
        (if site % 10 < self.varied { 1 + random.below(usual * 2) } else { usual }) as usize
    }
}

struct Recorder {
    events: Vec<Event>,
    time: u64,
    thread: ThreadId,
}

impl Recorder {
    fn alloc(&mut self, site: u64, size: usize, random: &mut Random) -> Vec<u8> {
        let block = Vec::with_capacity(size);
        let (address, stack) = (block.as_ptr() as u64, NodeId(site as u32 + 1));
        self.push(Action::Alloc { address, size: size as u64, alignment: 0, stack }, random);
        block
    }

    fn free(&mut self, block: Vec<u8>, random: &mut Random) {
        self.push(Action::Free { address: block.as_ptr() as u64, stack: NodeId::ROOT }, random);
    }

    fn push(&mut self, action: Action, random: &mut Random) {
        self.time += 20 + random.below(200);
        self.events.push(Event { time: self.time, thread: self.thread, action });
    }
}

/// xorshift64*, so that each run has the same program.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }
}
