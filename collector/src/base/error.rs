//! Why a recording could not be made.

use std::path::{Path, PathBuf};

/// A failure of the collector; each text says what, where and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The capture could not be created or written.
    #[error("cannot write the capture {path}: {source}. {}", advice_for_file(source))]
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
    #[error("cannot write the capture {path}: {}. {}", said_once(source), advice(source))]
    Capture {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: capture::Error,
    },
    /// The program was to be recorded, and nothing of it was.
    #[error("nothing was recorded, so no capture is kept. {0}")]
    Nobody(String),
    /// A thread of the collector ended by a panic: a defect of the collector.
    #[error("the collector has failed; what it wrote until then can be opened. Please report this.")]
    Crashed,
    /// A request came after the recording had ended, or could no longer be written.
    #[error("the recording ended before it was done")]
    Over,
    /// What is kept instead of the recording's events could not be written.
    #[error("the recording has ended early: {source}")]
    Aggregate {
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
    /// The system refused something that the recording cannot do without.
    #[error("cannot {what}: {source}{}", more_files(source))]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
}

/// What to do where a process may open no more files.
pub const MORE_FILES: &str = "Allow more open files (ulimit -n).";

/// What to do where the files of a process may not become that large, wherever they are.
pub const LARGER_FILES: &str = "Allow larger files (ulimit -f).";

const OTHER_PLACE: &str = "Choose another place with --output.";

/// True when this process may open no more files.
pub fn is_too_many_files(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMFILE)
}

/// What to do about a capture that could not be written.
fn advice(error: &capture::Error) -> &'static str {
    match error {
        capture::Error::Removed => "Record again, and keep file and folder until the recording has ended.",
        error => refused(error).map_or(OTHER_PLACE, advice_for_file),
    }
}

/// The system's error behind a capture's, if there is one.
fn refused(error: &capture::Error) -> Option<&std::io::Error> {
    match error {
        capture::Error::Io { source, .. } => Some(source),
        _ => None,
    }
}

/// The error of a capture, without the prefix that precedes it anyway.
fn said_once(error: &capture::Error) -> String {
    match error {
        capture::Error::Io { action, source } if action == capture::WRITE => source.to_string(),
        error => error.to_string(),
    }
}

/// Advice on a file chosen by the user that could not be written.
pub fn advice_for_file(error: &std::io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE) => MORE_FILES,
        Some(libc::EFBIG) => LARGER_FILES,
        Some(libc::ENOSPC) => "Make room there, or choose another place with --output.",
        Some(libc::EDQUOT) => {
            "Your quota there is used up: delete something, or choose another place with --output."
        }
        _ => OTHER_PLACE,
    }
}

/// The same, to be appended to a sentence without advice; begins with a full stop.
fn more_files(error: &std::io::Error) -> String {
    if is_too_many_files(error) { format!(". {MORE_FILES}") } else { String::new() }
}

/// Why a capture could not be created.
pub fn cannot_create(path: &Path, error: capture::Error) -> Error {
    match error {
        capture::Error::Io { source, .. } if source.kind() == std::io::ErrorKind::AlreadyExists => {
            Error::OutputExists { path: path.to_owned() }
        }
        source => Error::Capture { path: path.to_owned(), source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that a user whose process may open no more files is told so, and not to try another place.
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

    /// Check that each way in which writing a file fails gets the advice that helps, without repetition.
    #[test]
    fn files_that_cannot_be_written_say_what_helps() {
        for (code, advice) in [
            (libc::EFBIG, "too large (os error 27). Allow larger files (ulimit -f)."),
            (libc::ENOSPC, "(os error 28). Make room there, or choose another place with --output."),
            (
                libc::EDQUOT,
                "Your quota there is used up: delete something, or choose another place with --output.",
            ),
            (libc::EROFS, "(os error 30). Choose another place with --output."),
        ] {
            let refused = || std::io::Error::from_raw_os_error(code);
            let written = capture::Error::Io { action: capture::WRITE.to_owned(), source: refused() };
            for error in [
                Error::Output { path: "a".into(), source: refused() },
                Error::Capture { path: "a".into(), source: written },
            ] {
                let text = error.to_string();
                assert!(text.ends_with(advice), "{text}");
                assert_eq!(text.matches("cannot write").count(), 1, "{text}");
            }
        }
    }
}
