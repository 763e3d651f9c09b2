//! Scans of processes that have ended, on their way into the capture.
//!
//! ```text
//!  searched ──► │ waits │ waits │ … at most so many, and so many pointers │ ──► writer ──► capture, whoever receives it
//!               └──────── no room: the next process waits ────────────────┘
//!                         no room, and the writer stands still: the next process goes on, and is counted
//! ```
//!
//! Each holds what it has found, so there is an end to how many there may be. Behind it processes wait for the writer; but one that waits
//! itself, for a pipe that nobody reads or a disk that does not answer, may do so for ever, and nobody's end depends on that.

use crate::commands::Answer;
use crate::requests::Unwritten;
use crate::writing::Written;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// So many scans may wait to be written, …
const SCANS: usize = 8;
/// … and so many pointers in all of them: some bytes for each.
const POINTERS: u64 = 16 << 20;
/// A writer that works has a turn each second, and each of its turns takes some milliseconds.
const STILL: Duration = Duration::from_secs(3);
/// How often it is looked whether it has had one.
const LOOK: Duration = Duration::from_millis(100);

/// Why a process does not wait until there is room.
pub(crate) const STANDS_STILL: &str = "nothing could be written for 3 seconds, as where whoever receives the capture stands still, and \
    processes do not wait for that";

/// The scans, the oldest first.
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

    /// Waits until there is room for one more, and gives what has become of others; false where that may never be.
    pub(crate) fn has_room(&mut self, mut done: impl FnMut(Answer)) -> bool {
        let mut patience = Duration::ZERO;
        while let Some(oldest) = self.waiting.front() {
            match oldest.done_within(patience) {
                Some(answer) => {
                    done(answer);
                    self.waiting.pop_front();
                }
                None if !self.is_full() => break,
                None if self.writer.stands_still() => return false,
                None => patience = LOOK,
            }
        }
        true
    }

    pub(crate) fn push(&mut self, scan: Unwritten) {
        self.waiting.push_back(scan);
    }

    /// Waits until all are written.
    pub(crate) fn finish(self, done: impl FnMut(Answer)) {
        self.waiting.into_iter().map(Unwritten::wait).for_each(done);
    }

    fn is_full(&self) -> bool {
        let pointers: u64 = self.waiting.iter().map(|scan| scan.pointers).sum();
        self.waiting.len() >= SCANS || pointers > POINTERS
    }
}

/// Who writes them.
#[derive(Debug)]
struct Writer {
    written: Arc<Written>,
    /// Its turns when somebody looked, and since when there were no more.
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

    /// Check that there is room as soon as the oldest is written, or is lost.
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

    /// Check that many pointers leave no room, however few scans have found them.
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

    /// Check that a writer which has turns is waited for, however long, and one that has none is not.
    #[test]
    fn writers_that_stand_still_are_not_waited_for() {
        let (mut backlog, writers, written) = full();
        let before = backlog.writer.since;
        backlog.writer.since = before.checked_sub(2 * STILL).expect("this machine runs for longer");
        written.begin_turn();
        assert!(!backlog.writer.stands_still());
        backlog.writer.since = before.checked_sub(2 * STILL).expect("this machine runs for longer");
        assert!(!backlog.has_room(|answer| panic!("{answer:?}")));
        // It comes back: what waits is written, and there is room again.
        writers[0].send(true).unwrap();
        assert!(backlog.has_room(|_| ()));
    }
}
