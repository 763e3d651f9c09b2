//! The writer's failure, as on a full disk: noted by the writer, reported to whoever waits for the end of the
//! recording.

use super::alarm::Alarm;
use rustix::fd::{AsFd, BorrowedFd};
use std::io;
use std::sync::{Mutex, PoisonError};

/// The writer's failure, once there is one.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Readable while there is a failure that was not reported.
    alarm: Alarm,
    reason: Mutex<Option<String>>,
}

impl Failure {
    pub(crate) fn new() -> io::Result<Failure> {
        Ok(Failure { alarm: Alarm::new()?, reason: Mutex::default() })
    }

    /// Notes that the writer ended before the recording.
    pub(crate) fn note(&self, reason: String) {
        *self.reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
        self.alarm.call();
    }

    /// The reason, once.
    pub(crate) fn take(&self) -> Option<String> {
        let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner).take();
        if reason.is_some() {
            self.alarm.clear();
        }
        reason
    }
}

/// Readable while there is a failure that was not reported.
impl AsFd for Failure {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.alarm.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    /// Check that a failure wakes its waiter, and is reported once.
    #[test]
    fn failure_is_told_once() {
        let failure = Failure::new().unwrap();
        let is_there =
            || poll(&mut [PollFd::new(&failure, PollFlags::IN)], Some(&Timespec::default())) == Ok(1);
        assert!(!is_there() && failure.take().is_none());
        failure.note("full".into());
        assert!(is_there());
        assert_eq!((failure.take().as_deref(), failure.take()), (Some("full"), None));
        assert!(!is_there());
    }
}
