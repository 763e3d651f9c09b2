//! Endless recordings, in captures of limited size of which only the last few are kept.
//!
//! ```text
//!  service.4711.memprof   service.4711.2.memprof   service.4711.3.memprof
//!  ────────────────────►│ ──────────────────────►│ ───────────────►           each is whole, and is finished in a
//!     removed, --keep 2 │    finished            │   being written            thread of its own
//! ```
//!
//! Between two captures the processes go unrecorded until their next call. The next capture does not know what was
//! allocated before: frees of that are counted separately, as after every attach.

use super::push::LastInterval;
use crate::{message, output, values};
use clap::Args;
use collector::{Finished, NameSearch, Session};
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

/// How large captures may become, and how many.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Start another capture when one has reached this size
    #[arg(help_heading = "Output", long, value_name = "SIZE", value_parser = values::size)]
    max_size: Option<usize>,
    /// Keep only this many full captures, the latest ones
    #[arg(help_heading = "Output", long, value_name = "N", requires = "max_size", value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,
}

impl Limits {
    /// True if a capture may be followed by another one.
    pub(crate) fn are_set(&self) -> bool {
        self.max_size.is_some()
    }
}

/// The sequence of captures of one recording.
pub(crate) struct Series {
    limits: Limits,
    pushed: Option<LastInterval>,
    first: PathBuf,
    /// The number of the current capture.
    number: u64,
    full: VecDeque<Full>,
}

/// A full capture, and the thread that finishes it.
#[derive(Debug)]
struct Full {
    path: PathBuf,
    thread: JoinHandle<()>,
}

impl Series {
    /// A series that begins with this capture.
    pub(crate) fn new(limits: Limits, first: &Path, pushed: Option<LastInterval>) -> Series {
        Series { limits, pushed, first: first.to_owned(), number: 1, full: VecDeque::new() }
    }

    /// True if the capture has reached its limit.
    pub(crate) fn is_full(&self, session: &Session) -> bool {
        self.limits.max_size.is_some_and(|most| session.progress().bytes >= most as u64)
    }

    /// Ends a capture; returns the processes that it recorded, and the path of the next one.
    pub(crate) fn turn(&mut self, mut session: Session) -> (Vec<u32>, PathBuf) {
        let processes = session.close();
        let path = session.output().to_owned();
        self.full.push_back(Full { path, thread: self.finish(session) });
        self.number += 1;
        let most = self.limits.keep.map_or(usize::MAX, |keep| keep as usize);
        while self.full.len() > most
            && let Some(Full { path, thread }) = self.full.pop_front()
        {
            // The file exists once its thread has ended.
            let _ = thread.join();
            if let Err(error) = fs::remove_file(&path) {
                message::warning(&format!("cannot remove {}: {error}", path.display()));
            }
        }
        let stem = self.first.file_stem().unwrap_or_default().to_string_lossy();
        let next = self.first.with_file_name(format!("{stem}.{}.memprof", self.number));
        (processes, output::unused(next))
    }

    /// Finishes a capture of this series in a thread of its own: looking up names may take long.
    pub(crate) fn finish(&self, session: Session) -> JoinHandle<()> {
        let pushed = self.pushed.clone();
        std::thread::spawn(move || {
            let key = session.output().to_owned();
            match session.stop(Arc::new(NameSearch::default()), Vec::new()) {
                Ok(Finished { path, .. }) => {
                    message::note(&format!("wrote {}", path.display()));
                    if let Some(pushed) = pushed {
                        pushed.make(&key, &path);
                    }
                }
                Err(error) => message::warning(&error.to_string()),
            }
        })
    }

    /// Waits until all full captures are finished.
    pub(crate) fn wait(self) {
        // A failing thread has reported its error.
        self.into_threads().for_each(|thread| drop(thread.join()));
    }

    /// The threads that finish full captures.
    pub(crate) fn into_threads(self) -> impl Iterator<Item = JoinHandle<()>> {
        self.full.into_iter().map(|full| full.thread)
    }
}
