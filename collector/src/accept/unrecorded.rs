//! Agents that should have been recorded but could not be.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Reasons counted separately: text from an agent may be part of one, and must not cost memory.
const REASONS: usize = 64;
const OTHERWISE: &str = "something else";

/// Number of agents, by reason.
#[derive(Debug, Default)]
pub(crate) struct Unrecorded(Mutex<BTreeMap<String, u64>>);

impl Unrecorded {
    /// Counts one agent.
    pub(crate) fn add(&self, error: &io::Error) {
        let mut reasons = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reason = reason(error);
        if reasons.len() >= REASONS && !reasons.contains_key(&reason) {
            reason = OTHERWISE.to_owned();
        }
        *reasons.entry(reason).or_default() += 1;
    }

    /// One sentence for the user, if there were any, with the most frequent reason. When many are refused, some
    /// disconnect before they are told, which is another reason but of no use to the user.
    pub(crate) fn remark(&self) -> Option<String> {
        let reasons = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (reason, _) = reasons.iter().max_by_key(|(_, count)| **count)?;
        let count: u64 = reasons.values().sum();
        let because = if reasons.len() == 1 { "because of" } else { "most of them because of" };
        Some(format!("Processes that could not be recorded: {count}, {because}: {reason}."))
    }
}

/// The system's error, with advice.
fn reason(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EFBIG) => {
            format!("{error}; its memory is shared by a file: allow larger ones (ulimit -f)")
        }
        Some(libc::EPERM) => {
            format!("{error}; a sandbox may forbid memfd_create, as sysprof-memprof doctor tells")
        }
        Some(libc::ENOENT) if !Path::new("/proc/self").exists() => {
            "/proc is not mounted where the recording runs (mount -t proc proc /proc)".to_owned()
        }
        Some(libc::EMFILE) => format!("{error}; allow more of them (ulimit -n)"),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that the reason why processes are not recorded comes with advice, and that of several the most frequent
    /// one is reported.
    #[test]
    fn reasons_say_what_helps() {
        let unrecorded = Unrecorded::default();
        assert_eq!(unrecorded.remark(), None);
        let cases = [
            (libc::EPERM, 1, "recorded: 1, because of: ", "memfd_create"),
            (libc::EFBIG, 2, "recorded: 3, most of them because of: ", "ulimit -f"),
            (libc::EMFILE, 9, "recorded: 12, most of them because of: ", "ulimit -n"),
            (libc::EPIPE, 1, "recorded: 13, most of them because of: ", "ulimit -n"),
        ];
        for (error, count, begin, helps) in cases {
            (0..count).for_each(|_| unrecorded.add(&io::Error::from_raw_os_error(error)));
            let remark = unrecorded.remark().unwrap();
            assert!(remark.contains(begin) && remark.contains(helps), "{remark}");
        }
    }

    /// Check that unbounded reasons are counted and cost little memory.
    #[test]
    fn reasons_have_an_end() {
        let unrecorded = Unrecorded::default();
        (0..10_000).for_each(|number| unrecorded.add(&io::Error::other(format!("reason {number}"))));
        assert!(unrecorded.remark().unwrap().contains("recorded: 10000, most"));
        assert!(unrecorded.0.lock().unwrap().len() <= REASONS + 1);
    }
}
