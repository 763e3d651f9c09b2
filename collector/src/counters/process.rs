//! `/proc/PID/stat` of each recorded process.

use super::{Reading, Round, Source};
use capture::CounterKind;
use procfs::process::Process;

/// The counters in `stat`: memory, faults, processor time, threads.
pub(super) struct Stat {
    page: u64,
    /// Nanoseconds per clock tick.
    tick: u64,
}

impl Stat {
    pub(super) fn new() -> Stat {
        Stat {
            page: rustix::param::page_size() as u64,
            tick: 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1),
        }
    }
}

impl Source for Stat {
    fn read(&mut self, round: &Round, reading: &mut Reading) {
        for subject in &round.subjects {
            let Ok(stat) = Process::new(subject.pid.cast_signed()).and_then(|process| process.stat()) else {
                continue;
            };
            if subject.start_ticks != 0 && stat.starttime != subject.start_ticks {
                continue;
            }
            let values = [
                (CounterKind::Rss, stat.rss.saturating_mul(self.page)),
                (CounterKind::MinorFaults, stat.minflt),
                (CounterKind::MajorFaults, stat.majflt),
                (CounterKind::UserTime, stat.utime.saturating_mul(self.tick)),
                (CounterKind::SystemTime, stat.stime.saturating_mul(self.tick)),
                (CounterKind::Threads, stat.num_threads.max(0).unsigned_abs()),
            ];
            for (kind, value) in values {
                reading.add(Some(subject.process), kind, 0, value);
            }
        }
    }
}
