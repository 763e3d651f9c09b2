//! `/proc/PID/stat` of each recorded process, and the maximum that `/proc/PID/status` has: what is resident between two
//! readings is in no reading.

use super::rollup::field;
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
            // A process without pages has given up its memory to end: nothing of this is its last value.
            if stat.rss == 0 {
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
            let peak = peak_rss(subject.pid).map(|peak| (CounterKind::PeakRss, peak));
            for (kind, value) in values.into_iter().chain(peak) {
                reading.add(Some(subject.process), kind, 0, value);
            }
        }
    }
}

/// The most that was ever resident in the program of a process, bytes.
pub(crate) fn peak_rss(pid: u32) -> Option<u64> {
    field(&std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?, "VmHWM:")
}

#[cfg(test)]
mod tests {
    use super::super::tests::of;
    use super::*;
    use crate::proc::subjects::Subject;
    use capture::ProcessId;

    /// Check that a process that has ended and was not reaped is not read: it would seem to have given up its memory.
    #[test]
    fn the_dead_have_no_counters() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        while crate::proc::process::zombie_status(pid).is_none() {
            std::thread::yield_now();
        }
        let subject = |pid| Subject { process: ProcessId(pid), pid, start_ticks: 0, is_forked: false };
        let alive = std::process::id();
        let mut reading = Reading { time: 0, counters: Vec::new() };
        Stat::new().read(&of(&[subject(pid), subject(alive)]), &mut reading);
        child.wait().unwrap();
        let read: Vec<_> = reading.counters.iter().filter_map(|counter| counter.process).collect();
        assert_eq!(read, [ProcessId(alive); 7]);
        let value = |kind| reading.counters.iter().find(|counter| counter.kind == kind).unwrap().value;
        assert!(value(CounterKind::PeakRss) >= value(CounterKind::Rss) && value(CounterKind::Rss) > 100_000);
    }
}
