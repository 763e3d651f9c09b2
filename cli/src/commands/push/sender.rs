//! The thread that sends what is in the spool, oldest first, and the only one that waits for the network.
//!
//! ```text
//!  put ──► spool ──► thread ─┬─ accepted ──► removed
//!           ▲                ├─ refused ───► removed, and said once
//!           └────── again ◄──┴─ later
//! ```

use super::backoff;
use super::receiver::{Receiver, Verdict};
use super::spool::{Entry, Spool};
use super::upload::Upload;
use crate::commands::secret::random;
use crate::message;
use analysis::format::counted;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A spool, and the thread that empties it.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    shared: Arc<(Mutex<State>, Condvar)>,
    receiver: Receiver,
}

#[derive(Debug)]
struct State {
    spool: Spool,
    /// The profile that is being sent.
    sent: Option<Entry>,
    /// When to give up, once nothing more will be put.
    deadline: Option<Instant>,
    /// The thread has ended.
    is_over: bool,
    counts: Counts,
    /// The reason that was said last, of the receiver's being unreachable and of its refusals.
    failing: Option<String>,
    refusing: Option<String>,
    /// It was said that profiles are lost.
    is_losing: bool,
}

/// What became of all profiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) accepted: u64,
    pub(super) refused: u64,
    /// Lost for want of room, or of a disk that works.
    pub(super) lost: u64,
    /// Still in the spool.
    pub(super) left: u64,
}

impl Sender {
    /// Begins to send what is there.
    pub(super) fn start(receiver: Receiver, spool: Spool) -> std::io::Result<Sender> {
        let state = State {
            spool,
            sent: None,
            deadline: None,
            is_over: false,
            counts: Counts::default(),
            failing: None,
            refusing: None,
            is_losing: false,
        };
        let sender = Sender { shared: Arc::new((Mutex::new(state), Condvar::new())), receiver };
        let own = sender.clone();
        thread::Builder::new().name("push".into()).spawn(move || own.run())?;
        Ok(sender)
    }

    /// Adds a profile, which is sent after those before it.
    pub(super) fn put(&self, upload: &Upload) {
        let mut state = self.state();
        let sent = state.sent;
        let put = state.spool.put(upload, sent);
        let folder = state.spool.folder().display();
        let (gone, why) = match put {
            Ok(gone) => (gone, format!("{folder} is full: the oldest profiles that were not sent are lost")),
            Err(error) => (1, format!("profiles are lost: cannot write to {folder}: {error}")),
        };
        if gone > 0 && !std::mem::replace(&mut state.is_losing, true) {
            message::warning(&why);
        }
        state.counts.lost += gone;
        drop(state);
        self.shared.1.notify_all();
    }

    /// Waits until everything is sent, for this long at most, and says what was not.
    pub(super) fn end(&self, timeout: Duration) -> Counts {
        let deadline = Instant::now() + timeout;
        let mut state = self.state();
        state.deadline = Some(deadline);
        self.shared.1.notify_all();
        while !state.is_over {
            let Some(rest) = deadline.checked_duration_since(Instant::now()) else { break };
            state = self.shared.1.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
        let counts = Counts { left: state.spool.len() as u64, ..state.counts };
        let folder = state.spool.folder().display();
        if counts.left > 0 {
            message::warning(&format!(
                "not sent yet: {}. To send it later: sysprof-memprof export {folder} --push {}",
                counted(counts.left, "profile"),
                self.receiver.url()
            ));
        }
        if counts.refused + counts.lost > 0 {
            let (refused, lost) = (counts.refused, counted(counts.lost, "profile"));
            message::warning(&format!(
                "{} refused by {}, {lost} lost for want of room",
                counted(refused, "profile"),
                self.receiver.url()
            ));
        }
        state.spool.clear();
        counts
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut failures = 0;
        while let Some((entry, timeout)) = self.next() {
            let upload = self.state().spool.read(entry);
            let verdict = match &upload {
                Ok(upload) => self.receiver.send(upload, timeout),
                Err(error) => Verdict::Refused(format!("a profile is left out: {error:#}")),
            };
            let mut state = self.state();
            state.sent = None;
            let pause = match verdict {
                Verdict::Accepted => {
                    state.accept(entry, self.receiver.url());
                    None
                }
                Verdict::Refused(reason) => {
                    state.refuse(entry, reason);
                    None
                }
                Verdict::Later { reason, asked } => {
                    failures += 1;
                    state.fail(reason);
                    Some((backoff::wait(failures, random_number(), asked), asked.is_some()))
                }
            };
            match pause {
                None => failures = 0,
                Some((pause, is_asked)) => {
                    if !self.pause(state, pause, is_asked) {
                        break;
                    }
                }
            }
        }
        self.state().is_over = true;
        self.shared.1.notify_all();
    }

    /// The next profile, and how long to wait for the answer; none when it is over.
    fn next(&self) -> Option<(Entry, Duration)> {
        let mut state = self.state();
        loop {
            let rest = state.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if rest == Some(Duration::ZERO) {
                return None;
            }
            if let Some(entry) = state.spool.first() {
                state.sent = Some(entry);
                return Some((entry, rest.unwrap_or(TIMEOUT).min(TIMEOUT)));
            }
            if rest.is_some() {
                return None;
            }
            state = self.shared.1.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits after a failure. False if there is no time for another try. When the end comes, the next try is made at
    /// once, unless the receiver has asked for the wait.
    fn pause(&self, mut state: MutexGuard<'_, State>, pause: Duration, is_asked: bool) -> bool {
        let until = Instant::now() + pause;
        let was_ending = state.deadline.is_some();
        while let Some(rest) = until.checked_duration_since(Instant::now()) {
            match state.deadline {
                Some(_) if !was_ending && !is_asked => return true,
                Some(deadline) if until >= deadline => return false,
                _ => {}
            }
            state = self.shared.1.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl State {
    fn accept(&mut self, entry: Entry, url: &str) {
        self.spool.remove(entry);
        self.counts.accepted += 1;
        self.refusing = None;
        if self.failing.take().is_some() {
            message::note(&format!("{url} accepts profiles again"));
        }
    }

    fn refuse(&mut self, entry: Entry, reason: String) {
        self.spool.remove(entry);
        self.counts.refused += 1;
        if self.refusing.as_ref() != Some(&reason) {
            message::warning(&format!("{reason}. The profile is not sent again"));
            self.refusing = Some(reason);
        }
    }

    fn fail(&mut self, reason: String) {
        // An outage is said once, whatever it looks like from one try to the next.
        if self.failing.is_none() {
            let folder = self.spool.folder().display();
            message::warning(&format!("{reason}. Trying again; meanwhile profiles are kept in {folder}"));
        }
        self.failing = Some(reason);
    }
}

/// What tells our waits from those of others.
fn random_number() -> u64 {
    let bytes = random().unwrap_or_default();
    u64::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]])
}
