//! The live processes, as the thread that reads counters knows them.

use super::pace::Pace;
use capture::ProcessId;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A process whose counters are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) process: ProcessId,
    pub(crate) pid: u32,
    /// Start in clock ticks since boot, to notice a reused pid; 0 if unknown.
    pub(crate) start_ticks: u64,
    /// It was forked by a recorded process.
    pub(crate) is_forked: bool,
}

/// The live processes, shared by the threads that know of them and the one that reads them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subjects(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    known: Mutex<Known>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Known {
    /// Sorted by number.
    alive: Vec<Subject>,
    /// Processes never read so far.
    news: Vec<ProcessId>,
    /// The last one read in turn.
    last: Option<ProcessId>,
    is_over: bool,
}

/// What is read in one round.
#[derive(Debug, Default)]
pub(crate) struct Round {
    pub(crate) subjects: Vec<Subject>,
    /// All live processes, sorted by number.
    pub(crate) alive: Vec<ProcessId>,
}

impl Round {
    /// True for a live process, even if it is not its turn.
    pub(crate) fn is_alive(&self, process: ProcessId) -> bool {
        self.alive.binary_search(&process).is_ok()
    }
}

impl Known {
    fn find(&self, process: ProcessId) -> Result<usize, usize> {
        self.alive.binary_search_by_key(&process, |subject| subject.process)
    }

    /// At most `most` processes: first those never read, then the others, from where the last round stopped.
    fn round(&mut self, most: usize) -> Round {
        let news: Vec<_> = self.news.drain(..self.news.len().min(most)).collect();
        let mut subjects: Vec<Subject> =
            news.iter().filter_map(|process| self.alive.get(self.find(*process).ok()?).copied()).collect();
        let start = self.last.map_or(0, |last| self.find(last).map_or_else(|at| at, |at| at + 1));
        let (before, behind) = self.alive.split_at(start);
        let rest = most - subjects.len();
        let others = behind.iter().chain(before).filter(|subject| !news.contains(&subject.process));
        subjects.extend(others.take(rest));
        // Only processes read in turn count; new ones are read out of turn.
        self.last = subjects
            .get(subjects.len().saturating_sub(rest)..)
            .and_then(|turn| turn.last())
            .map_or(self.last, |last| Some(last.process));
        Round { subjects, alive: self.alive.iter().map(|subject| subject.process).collect() }
    }
}

impl Subjects {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, subject: Subject) {
        let mut known = self.known();
        match known.find(subject.process) {
            Ok(_) => return,
            Err(at) => known.alive.insert(at, subject),
        }
        known.news.push(subject.process);
        // Once for all that come before the next round.
        if known.news.len() == 1 {
            self.0.changed.notify_all();
        }
    }

    pub(crate) fn remove(&self, process: ProcessId) {
        let mut known = self.known();
        if let Ok(at) = known.find(process) {
            known.alive.remove(at);
        }
    }

    pub(crate) fn pids(&self) -> Vec<u32> {
        self.known().alive.iter().map(|subject| subject.pid).collect()
    }

    pub(crate) fn alive(&self) -> Vec<Subject> {
        self.known().alive.clone()
    }

    /// Ends the thread that reads.
    pub(crate) fn end(&self) {
        self.known().is_over = true;
        self.0.changed.notify_all();
    }

    /// Waits until the next round is due after the last, and returns `most` processes at most, in turn. `None` at the
    /// end. A process that was never read does not wait long.
    pub(crate) fn next(&self, last: Instant, pace: &mut Pace, most: usize) -> Option<Round> {
        let mut known = self.known();
        loop {
            if known.is_over {
                return None;
            }
            if !known.news.is_empty() {
                pace.hurry();
            }
            let rest = pace.time().saturating_sub(last.elapsed());
            if rest.is_zero() {
                return Some(known.round(most));
            }
            known = self.0.changed.wait_timeout(known, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Check that a new process shortens a long wait, that one which is gone is not read, and that the end ends
    /// everything.
    #[test]
    fn new_processes_are_not_kept_waiting() {
        let subjects = Subjects::default();
        let mut pace = Pace::default();
        (0..9).for_each(|_| pace.looked(false));
        let started = Instant::now();
        let other = subjects.clone();
        let adder = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            for number in 0..3 {
                other.add(Subject {
                    process: ProcessId(number),
                    pid: number,
                    start_ticks: 0,
                    is_forked: false,
                });
            }
            other.remove(ProcessId(1));
        });
        adder.join().unwrap();
        let round = subjects.next(started, &mut pace, 2).unwrap();
        assert_eq!(round.subjects.iter().map(|subject| subject.pid).collect::<Vec<_>>(), [0, 2]);
        assert_eq!((subjects.pids(), pace.time()), (vec![0, 2], Pace::default().time()));
        subjects.end();
        assert!(subjects.next(started, &mut pace, 2).is_none());
    }

    /// Check that with more processes than fit a round each gets its turn, new ones first, and none twice before all
    /// had theirs.
    #[test]
    fn all_have_their_turn() {
        let mut known = Known::default();
        let add = |known: &mut Known, number: u32| {
            let subject =
                Subject { process: ProcessId(number), pid: number, start_ticks: 0, is_forked: false };
            let at = known.find(subject.process).unwrap_err();
            known.alive.insert(at, subject);
            known.news.push(subject.process);
        };
        (0..10).rev().for_each(|number| add(&mut known, number));
        let next =
            |known: &mut Known| known.round(4).subjects.iter().map(|subject| subject.pid).collect::<Vec<_>>();
        let lap: Vec<u32> = (0..3).flat_map(|_| next(&mut known)).collect();
        let first: std::collections::BTreeSet<_> = lap.iter().collect();
        assert_eq!(first.len(), 10, "{lap:?}");
        add(&mut known, 10);
        assert_eq!(next(&mut known)[0], 10);
        let mut seen: Vec<u32> = (0..11).flat_map(|_| next(&mut known)).collect();
        assert_eq!(seen.len(), 44);
        seen.sort_unstable();
        assert_eq!(seen, (0..11).flat_map(|number| [number; 4]).collect::<Vec<_>>(), "each four times");
        // Processes that are gone leave no gap.
        known.alive.retain(|subject| subject.pid % 2 == 0);
        let seen: std::collections::BTreeSet<_> = (0..2).flat_map(|_| next(&mut known)).collect();
        assert_eq!(seen.len(), 6);
    }
}
