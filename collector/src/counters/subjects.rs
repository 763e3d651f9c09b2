//! Who is alive, as the thread that reads counters knows it.

use super::pace::Pace;
use capture::ProcessId;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A process whose counters are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) process: ProcessId,
    pub(crate) pid: u32,
    /// Start in clock ticks since boot: another process may have the pid by now. 0 where it is not known.
    pub(crate) start_ticks: u64,
    /// A recorded process has forked it.
    pub(crate) is_forked: bool,
}

/// Those that are alive, shared by whoever knows of them and the thread that reads them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subjects(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    known: Mutex<Known>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Known {
    alive: Vec<Subject>,
    /// Whether there is one that was never read.
    is_news: bool,
    is_over: bool,
}

impl Subjects {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, subject: Subject) {
        let mut known = self.known();
        known.alive.push(subject);
        known.is_news = true;
        self.0.changed.notify_all();
    }

    pub(crate) fn remove(&self, process: ProcessId) {
        self.known().alive.retain(|subject| subject.process != process);
    }

    pub(crate) fn pids(&self) -> Vec<u32> {
        self.known().alive.iter().map(|subject| subject.pid).collect()
    }

    pub(crate) fn alive(&self) -> Vec<Subject> {
        self.known().alive.clone()
    }

    /// Nobody is to be read any more.
    pub(super) fn end(&self) {
        self.known().is_over = true;
        self.0.changed.notify_all();
    }

    /// Waits for the next look after the last one: at most `most` of them, `None` at the end. A process that nobody has
    /// looked at is not kept waiting.
    pub(super) fn next(&self, last: Instant, pace: &mut Pace, most: usize) -> Option<Vec<Subject>> {
        let mut known = self.known();
        loop {
            if known.is_over {
                return None;
            }
            if std::mem::take(&mut known.is_news) {
                pace.hurry();
            }
            let rest = pace.time().saturating_sub(last.elapsed());
            if rest.is_zero() {
                return Some(known.alive.iter().take(most).copied().collect());
            }
            known = self.0.changed.wait_timeout(known, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Check that a new process ends a long wait, that one which is gone is not read, and that the end ends everything.
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
        let alive = subjects.next(started, &mut pace, 2).unwrap();
        assert_eq!(alive.iter().map(|subject| subject.pid).collect::<Vec<_>>(), [0, 2]);
        assert_eq!((subjects.pids(), pace.time()), (vec![0, 2], Pace::default().time()));
        subjects.end();
        assert_eq!(subjects.next(started, &mut pace, 2), None);
    }
}
