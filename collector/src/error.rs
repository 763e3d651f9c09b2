//! Why a recording could not be made.

use std::path::PathBuf;

/// A failure of the collector; each text says what, where and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The capture could not be created or written.
    #[error("cannot write the capture {path}: {source}. Choose another place with --output.")]
    Output {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The output exists already.
    #[error("{path} exists already. Choose another name with --output, or replace it with --force.")]
    OutputExists {
        /// The file.
        path: PathBuf,
    },
    /// The capture could not be written.
    #[error("cannot write the capture {path}: {source}. Choose another place with --output.")]
    Capture {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: capture::Error,
    },
    /// A thread of the collector ended by a panic: a defect of the collector.
    #[error("the collector has failed; what it wrote until then can be opened. Please report this.")]
    Crashed,
    /// Something was wanted of a recording that has ended, or cannot be written any more.
    #[error("the recording ended before it was done")]
    Over,
    /// What is kept of the recording in place of its events could not be written.
    #[error("the recording has ended early: {source}")]
    Distil {
        /// What went wrong.
        source: capture::Error,
    },
    /// The socket for agents could not be made.
    #[error("cannot listen for agents on {path}: {source}")]
    Listen {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A tracepoint was asked for that the kernel does not have.
    #[error("{0}")]
    Trace(String),
    /// The system refused something the recording cannot do without.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
}
