//! Scans of exited processes, on their way into the capture.
//!
//! ```text
//!  searched ──► │ waits │ waits │ … bounded in number and in pointers     │ ──► writer ──► capture or its receiver
//!               └──────── no room: the next process waits ────────────────┘
//!                         no room, and the writer stands still: the next process goes on, and is counted
//! ```
//!
//! Each scan holds what it found, so their number is bounded. Further processes wait for the writer. But a writer
//! that is itself blocked, on a pipe nobody reads or a disk that does not respond, may be so forever, and no
//! process's exit may depend on that.

use super::commands::Answer;
use super::requests::Unwritten;
use crate::writer::written::Written;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Most scans that wait to be written, …
const SCANS: usize = 8;
/// … and most pointers in all of them, at some bytes each.
const POINTERS: u64 = 16 << 20;
/// How long without a turn counts as standing still: a working writer has a turn each second, and a turn takes
/// milliseconds.
const STILL: Duration = Duration::from_secs(3);
/// How often the writer's turns are checked.
const LOOK: Duration = Duration::from_millis(100);

/// Why a process does not wait for room.
pub(crate) const STANDS_STILL: &str = "nothing could be written for 3 seconds: the receiver of the capture may be stuck, and processes do not \
    wait for it";

/// The scans, oldest first.
#[derive(Debug)]
pub(crate) struct Backlog {
    waiting: VecDeque<Unwritten>,
    writer: Writer,
}

impl Backlog {
    pub(crate) fn new(written: Arc<Written>) -> Backlog {
        Backlog {
            waiting: VecDeque::new(),
            writer: Writer { turns: written.turns(), since: Instant::now(), written },
        }
    }

    /// Waits until there is room for one more, reporting the outcome of written ones; false when that may never
    /// happen.
    pub(crate) fn has_room(&mut self, mut done: impl FnMut(Answer)) -> bool {
        let mut timeout = Duration::ZERO;
        while let Some(oldest) = self.waiting.front() {
            match oldest.done_within(timeout) {
                Some(answer) => {
                    done(answer);
                    self.waiting.pop_front();
                }
                None if !self.is_full() => break,
                None if self.writer.stands_still() => return false,
                None => timeout = LOOK,
            }
        }
        true
    }

    pub(crate) fn push(&mut self, scan: Unwritten) {
        self.waiting.push_back(scan);
    }

    /// Waits until all scans are written.
    pub(crate) fn finish(self, done: impl FnMut(Answer)) {
        self.waiting.into_iter().map(Unwritten::wait).for_each(done);
    }

    fn is_full(&self) -> bool {
        let pointers: u64 = self.waiting.iter().map(|scan| scan.pointers).sum();
        self.waiting.len() >= SCANS || pointers > POINTERS
    }
}

/// The writer, as seen from here.
#[derive(Debug)]
struct Writer {
    written: Arc<Written>,
    /// The last number of turns seen, and since when it has not changed.
    turns: u64,
    since: Instant,
}

impl Writer {
    /// True when it has had no turn for some time.
    fn stands_still(&mut self) -> bool {
        let turns = self.written.turns();
        if turns != self.turns {
            (self.turns, self.since) = (turns, Instant::now());
        }
        self.since.elapsed() >= STILL
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};

    fn full() -> (Backlog, Vec<Sender<bool>>, Arc<Written>) {
        let written = Arc::new(Written::default());
        let mut backlog = Backlog::new(written.clone());
        let mut writers = Vec::new();
        while !backlog.is_full() {
            let (done, answer) = channel();
            backlog.push(Unwritten::new(1, 1, "found".into(), answer));
            writers.push(done);
        }
        (backlog, writers, written)
    }

    /// Check that there is room as soon as the oldest scan is written or lost.
    #[test]
    fn written_scans_make_room() {
        let (mut backlog, mut writers, _) = full();
        assert_eq!(writers.len(), SCANS);
        writers[0].send(true).unwrap();
        let mut answers = Vec::new();
        assert!(backlog.has_room(|answer| answers.push(answer)));
        assert_eq!(answers, [Ok("found".to_string())]);
        writers.clear();
        answers.clear();
        backlog.finish(|answer| answers.push(answer));
        assert!(answers.len() == SCANS - 1 && answers.iter().all(Result::is_err), "{answers:?}");
    }

    /// Check that many pointers fill the backlog, however few scans hold them.
    #[test]
    fn many_pointers_are_a_full_backlog() {
        let mut backlog = Backlog::new(Arc::default());
        let (_done, answer) = channel();
        backlog.push(Unwritten::new(1, POINTERS, String::new(), answer));
        assert!(backlog.has_room(|_| ()));
        let (_done, answer) = channel();
        backlog.push(Unwritten::new(1, 1, String::new(), answer));
        assert!(backlog.is_full());
    }

    /// Check that a writer that has turns is waited for however long it takes, and one that has none is not.
    #[test]
    fn writers_that_stand_still_are_not_waited_for() {
        let (mut backlog, writers, written) = full();
        let before = backlog.writer.since;
        backlog.writer.since = before.checked_sub(2 * STILL).expect("this machine runs for longer");
        written.begin_turn();
        assert!(!backlog.writer.stands_still());
        backlog.writer.since = before.checked_sub(2 * STILL).expect("this machine runs for longer");
        assert!(!backlog.has_room(|answer| panic!("{answer:?}")));
        // The writer recovers: waiting scans are written, and there is room again.
        writers[0].send(true).unwrap();
        assert!(backlog.has_room(|_| ()));
    }
}
