//! How many records each stage of the collector moves: `cargo bench -p collector`. Prints one line per stage.
//!
//! Records are those of threads that allocate and free blocks of a few hundred sizes, as the rings have them. Each stage
//! is measured alone, by processor time, the best of some rounds.

use collector::stages::Stages;
use shared_ring::record::Record;
use std::hint::black_box;
use std::time::Duration;

const ROUNDS: usize = 12;
/// Live blocks of each thread.
const BLOCKS: usize = 1000;

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("bench.memprof");
    println!("{:54} {:>10} {:>12}", "stage", "ns/record", "M records/s");
    for (threads, run) in [(1, 1), (8, 64), (8, 1)] {
        let mut stages = Stages::new(threads, &file);
        let mut program = Program::new(threads);
        let (mut check, mut merge, mut write) = (Duration::MAX, Duration::MAX, Duration::MAX);
        let mut records = 0;
        for _ in 0..ROUNDS {
            records = program.fill(&mut stages, run);
            check = check.min(time(|| black_box(stages.check())).1);
            merge = merge.min(time(|| stages.merge()).1);
            write = write.min(time(|| stages.write()).1);
        }
        let rings = match (threads, run) {
            (1, _) => "1 ring".to_owned(),
            (_, 1) => format!("{threads} rings in turns"),
            _ => format!("{threads} rings, {run} records each in turns"),
        };
        row(&format!("copy and check, {rings}"), records, check);
        row(&format!("merge, {rings}"), records, merge);
        row(&format!("both, {rings}"), records, check + merge);
        row(&format!("translate, count, encode, compress, {rings}"), records, write);
    }
}

fn row(stage: &str, records: usize, took: Duration) {
    let each = took.as_secs_f64() * 1e9 / records as f64;
    println!("{stage:54} {each:10.2} {:12.0}", 1e3 / each);
}

/// The result of some work and the processor time of this thread that it took.
fn time<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let start = now();
    let result = work();
    (result, now() - start)
}

/// Threads that allocate and free at random.
struct Program {
    blocks: Vec<Vec<u64>>,
    /// Shifted ticks, of all and of each thread's last record.
    time: u64,
    times: Vec<u64>,
    random: Random,
}

impl Program {
    fn new(threads: u32) -> Program {
        Program {
            blocks: vec![vec![0; BLOCKS]; threads as usize],
            time: 0,
            times: vec![0; threads as usize],
            random: Random(1),
        }
    }

    /// Fills the rings up to three quarters, `run` records of one thread behind each other; how many there were.
    fn fill(&mut self, stages: &mut Stages, run: usize) -> usize {
        let threads = self.blocks.len();
        let each = (3 << 15) / 2;
        for index in 0..each * threads {
            let thread = index / run % threads;
            self.time += 4;
            let delta = self.time - std::mem::replace(&mut self.times[thread], self.time);
            let record = self.record(thread);
            assert!(stages.produce(thread as u32, record, delta), "rings are large enough");
        }
        each * threads
    }

    fn record(&mut self, thread: usize) -> Record {
        let place = self.random.below(BLOCKS as u64) as usize;
        let address = 0x5555_0000_0000 + ((thread * BLOCKS + place) as u64) * 256;
        let is_live = &mut self.blocks[thread][place];
        if std::mem::take(is_live) != 0 {
            return Record::Free { address };
        }
        *is_live = 1;
        Record::Alloc { address, size: 16 + place as u64 % 200, alignment: 0, stack: 0 }
    }
}

/// xorshift64*, so that each run sees the same program.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }
}
