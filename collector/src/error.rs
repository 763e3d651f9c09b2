//! Why a recording could not be made.

use std::path::PathBuf;

/// A failure of the collector; each text says what, where and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The capture could not be created or written.
    #[error("cannot write the capture {path}: {source}. {}", what_helps(Some(source)))]
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
    #[error("cannot write the capture {path}: {source}. {}", what_helps(refused(source)))]
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
    #[error("cannot listen for agents on {path}: {source}{}", more_files(source))]
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
    #[error("cannot {what}: {source}{}", more_files(source))]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
}

/// What to do where a process may open no more files.
pub const MORE_FILES: &str = "Allow more open files (ulimit -n).";

/// True when this process may open no more files.
pub fn is_too_many_files(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMFILE)
}

/// What the system said of a capture; nothing of one that it has not refused.
fn refused(error: &capture::Error) -> Option<&std::io::Error> {
    match error {
        capture::Error::Io { source, .. } => Some(source),
        _ => None,
    }
}

/// What to do about a file that could not be written.
fn what_helps(error: Option<&std::io::Error>) -> &'static str {
    if error.is_some_and(is_too_many_files) { MORE_FILES } else { "Choose another place with --output." }
}

/// The same behind a sentence that has no advice of its own, which begins with a full stop.
fn more_files(error: &std::io::Error) -> String {
    if is_too_many_files(error) { format!(". {MORE_FILES}") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that whoever may open no more files is told that, and not to look for another place.
    #[test]
    fn too_many_files_have_advice_of_their_own() {
        let refused = |code| std::io::Error::from_raw_os_error(code);
        let texts = |code| {
            let action = "open it".to_owned();
            [
                Error::Output { path: "a".into(), source: refused(code) },
                Error::Capture {
                    path: "a".into(),
                    source: capture::Error::Io { action, source: refused(code) },
                },
                Error::Listen { path: "a".into(), source: refused(code) },
                Error::System { what: "start", source: refused(code) },
            ]
            .map(|error| error.to_string())
        };
        for text in texts(libc::EMFILE) {
            assert!(text.ends_with(&format!(". {MORE_FILES}")), "{text}");
            assert!(!text.contains("another place"), "{text}");
        }
        assert_eq!(texts(libc::EACCES).map(|text| text.contains(MORE_FILES)), [false; 4]);
    }
}
