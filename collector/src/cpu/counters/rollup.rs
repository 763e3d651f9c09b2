//! `/proc/PID/smaps_rollup` of each recorded process: its share of shared memory, and what is swapped out.

use super::{Reading, Source};
use crate::proc::subjects::{Round, Subject};
use capture::{CounterKind, ProcessId};
use procfs::process::Process;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Shortest time between two reads of a process.
const SHORTEST: Duration = Duration::from_secs(1);
/// The kernel walks all pages of a process for each read, which may take one part in this many of the time.
const SHARE: u32 = 100;
/// Longest time for all reads of one round: of thousands of processes each gets its turn.
const AT_ONCE: Duration = Duration::from_millis(10);

/// Reads it rarely: the longer a read took, the later the next.
#[derive(Default)]
pub(super) struct Rollup {
    due: HashMap<ProcessId, Instant>,
}

impl Rollup {
    /// Time to the next read of a process, after one that took this long.
    fn rest(took: Duration) -> Duration {
        (took * SHARE).max(SHORTEST)
    }
}

impl Source for Rollup {
    fn read(&mut self, round: &Round, reading: &mut Reading) {
        self.due.retain(|process, _| round.is_alive(*process));
        let begun = Instant::now();
        for subject in &round.subjects {
            let now = Instant::now();
            if now - begun > AT_ONCE {
                // Processes read now are not due next time, so the others get their turn.
                return;
            }
            if self.due.get(&subject.process).is_none_or(|due| *due <= now) {
                read_one(subject, reading);
                self.due.insert(subject.process, Instant::now() + Self::rest(now.elapsed()));
            }
        }
    }
}

fn read_one(subject: &Subject, reading: &mut Reading) {
    let is_it =
        |stat: &procfs::process::Stat| subject.start_ticks == 0 || stat.starttime == subject.start_ticks;
    let process = Process::new(subject.pid.cast_signed()).and_then(|process| process.stat());
    let text = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", subject.pid));
    let (Some(_), Ok(text)) = (process.ok().filter(is_it), text) else { return };
    for (kind, name) in [(CounterKind::Pss, "Pss:"), (CounterKind::Swap, "Swap:")] {
        if let Some(bytes) = field(&text, name) {
            reading.add(Some(subject.process), kind, 0, bytes);
        }
    }
}

/// The bytes in a line like `Pss:    1234 kB`.
pub(super) fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::super::tests::of;
    use super::*;

    /// Check that lines are found by their full names, and that what is not a number of kilobytes is ignored.
    #[test]
    fn lines_are_found_by_name() {
        let text =
            "5581 ---p [rollup]\nRss: 9 kB\nPss:      12 kB\nPss_Anon: 5 kB\nSwap:  0 kB\nSwapPss: x kB\n";
        let cases = [("Pss:", Some(12 << 10)), ("Swap:", Some(0)), ("SwapPss:", None), ("None:", None)];
        for (name, expected) in cases {
            assert_eq!(field(text, name), expected, "{name}");
        }
        assert_eq!(field("Pss: 99999999999999999999 kB", "Pss:"), None);
    }

    /// Check that a process is read once and then left alone, for longer where reads take long, and that its memory
    /// counts in proportion to sharing.
    #[test]
    fn processes_are_read_seldom() {
        let own =
            Subject { process: ProcessId(3), pid: std::process::id(), start_ticks: 0, is_forked: false };
        let mut rollup = Rollup::default();
        let mut read = |subjects: &[Subject]| {
            let mut reading = Reading { time: 7, counters: Vec::new() };
            rollup.read(&of(subjects), &mut reading);
            reading.counters
        };
        let first = read(&[own]);
        assert!(first.iter().any(|counter| counter.kind == CounterKind::Pss && counter.value > 10_000));
        assert!(read(&[own]).is_empty());
        assert!(read(&[Subject { process: ProcessId(4), start_ticks: 1, ..own }]).is_empty());
        assert_eq!(Rollup::rest(Duration::from_millis(1)), SHORTEST);
        assert_eq!(Rollup::rest(Duration::from_millis(50)), Duration::from_secs(5));
    }
}
