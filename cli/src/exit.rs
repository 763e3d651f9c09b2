//! Exit codes, as documented in `help exit-codes`.

use crate::message;
use collector::attach::launch::NotExecuted;
use collector::attach::target::Refusal;
use engine::check;
use std::io;
use std::process::{ExitCode, ExitStatus};

/// Any failure without a code of its own.
pub(crate) const FAILED: u8 = 1;
/// The command line, or a file that it names, is unusable; nothing was started.
pub(crate) const USAGE: u8 = 2;
/// The capture does not allow a verdict on its rules.
pub(crate) const UNTOLD: u8 = 2;
/// The target ran and succeeded, but its recording failed.
pub(crate) const NOT_RECORDED: u8 = 3;
/// The target was found but cannot be executed; the shells' code.
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// The target was not found; the shells' code.
pub(crate) const NOT_FOUND: u8 = 127;
/// Added to the number of the signal that killed the target, as shells do.
const SIGNALED: u8 = 128;

/// How a command ends: with an exit code, or with a failure to report.
pub(crate) type Outcome = Result<ExitCode, Failure>;

/// A reason for the user, and an exit code for scripts.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    reason: anyhow::Error,
    /// The reader of our output has closed it (`| head`), which is no failure.
    is_unread: bool,
}

impl Failure {
    /// A failure with `code`, even if its cause is a broken pipe: not everything written to a pipe is a report.
    pub(crate) fn new(code: u8, reason: impl Into<anyhow::Error>) -> Failure {
        Failure { code, reason: reason.into(), is_unread: false }
    }

    /// The user asked for something impossible.
    pub(crate) fn usage(reason: impl Into<anyhow::Error>) -> Failure {
        Failure::new(USAGE, reason)
    }

    /// The whole reason as one text.
    pub(crate) fn to_text(&self) -> String {
        format!("{:#}", self.reason)
    }

    /// The failure, unless the reader of our output has just closed it: for commands that still have a verdict to
    /// give.
    pub(crate) fn unless_unread(self) -> Result<(), Failure> {
        if self.is_unread { Ok(()) } else { Err(self) }
    }

    /// Reports the failure and returns its code.
    pub(crate) fn report(self) -> ExitCode {
        if self.is_unread {
            return ExitCode::SUCCESS;
        }
        message::error(&self.reason);
        ExitCode::from(self.code)
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(reason: E) -> Failure {
        let reason = reason.into();
        // Asking for something that the capture lacks is a usage error, even if it only shows while a file is
        // written.
        let lacks = |cause: &(dyn std::error::Error + 'static)| {
            matches!(cause.downcast_ref(), Some(engine::Error::Aggregated { .. }))
        };
        let code = if reason.chain().any(lacks) { USAGE } else { FAILED };
        Failure { code, is_unread: is_broken_pipe(&reason), reason }
    }
}

/// The outcome of an operation on several processes: every failure is reported, and the first one's code counts.
pub(crate) fn of_all(outcomes: impl Iterator<Item = Result<(), Failure>>) -> Outcome {
    let mut code = ExitCode::SUCCESS;
    let mut has_failed = false;
    for failure in outcomes.filter_map(Result::err) {
        let of_it = failure.report();
        if !std::mem::replace(&mut has_failed, true) {
            code = of_it;
        }
    }
    Ok(code)
}

/// The exit code for the outcome of a check.
pub(crate) fn of_rules(outcome: check::Outcome) -> u8 {
    match outcome {
        check::Outcome::Kept => 0,
        check::Outcome::Untold => UNTOLD,
        check::Outcome::Broken => FAILED,
    }
}

/// The failure for a program that cannot be recorded.
pub(crate) fn refused(refusal: Refusal) -> Failure {
    let code = match refusal {
        Refusal::NotFound { .. } | Refusal::LoaderMissing { .. } => NOT_FOUND,
        Refusal::NotExecutable { .. }
        | Refusal::Directory { .. }
        | Refusal::Unreadable { .. }
        | Refusal::BadInterpreter { .. }
        | Refusal::TooManyInterpreters { .. } => NOT_EXECUTABLE,
        _ => USAGE,
    };
    Failure::new(code, refusal)
}

/// The failure for a program that passed all checks and still could not be executed.
pub(crate) fn not_executed(command: &str, NotExecuted(error): NotExecuted) -> Failure {
    let code = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE };
    Failure::new(code, anyhow::Error::new(error).context(format!("cannot execute {command}")))
}

/// The exit code for how the target ended, as in shells.
pub(crate) fn of_target(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let low = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
    match (status.code(), status.signal()) {
        (Some(code), _) => low(code),
        (None, Some(signal)) => SIGNALED.saturating_add(low(signal)),
        (None, None) => FAILED,
    }
}

fn is_broken_pipe(reason: &anyhow::Error) -> bool {
    reason
        .chain()
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    /// Check that exit codes of targets are those of shells.
    #[test]
    fn target_codes_are_those_of_shells() {
        for (raw, expected) in [(0, 0), (7 << 8, 7), (255 << 8, 255), (9, 137), (11 | 0x80, 139), (64, 192)] {
            assert_eq!(of_target(ExitStatus::from_raw(raw)), expected, "{raw:#x}");
        }
    }

    /// Check that a closed pipe is recognised through the layers of an error, that other errors are not mistaken for
    /// one, and that a failure with a given code remains a failure.
    #[test]
    fn broken_pipe_is_seen_through_contexts() {
        let error = |kind| anyhow::Error::new(io::Error::from(kind)).context("cannot write the report");
        assert!(Failure::from(error(io::ErrorKind::BrokenPipe)).is_unread);
        assert!(!Failure::from(error(io::ErrorKind::StorageFull)).is_unread);
        assert!(!Failure::new(NOT_RECORDED, error(io::ErrorKind::BrokenPipe)).is_unread);
    }
}
