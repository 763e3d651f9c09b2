//! Why sampling was refused, in a sentence that says what to do.

use crate::base::cpu_options::Scope;
use std::io;

/// What is refused: samples of the processors.
pub(super) const PROCESSORS: &str = "CPU not sampled";
/// What is refused: page faults.
pub(super) const FAULTS: &str = "page faults not recorded";

/// What the kernel said, and the setting that it depends on.
#[derive(Debug)]
pub(crate) struct Refusal {
    what: &'static str,
    error: io::Error,
    scope: Scope,
    /// `kernel.perf_event_paranoid`, if it can be read.
    paranoid: Option<i32>,
}

impl Refusal {
    pub(super) fn new(error: io::Error, scope: Scope, what: &'static str) -> Refusal {
        Refusal { what, error, scope, paranoid: paranoid() }
    }

    /// The sentence.
    pub(super) fn text(&self) -> String {
        // The highest level that still allows it. At that level one may sample one's own processes without the
        // kernel's part. Faults of processes that run already concern the whole system.
        let highest = match (self.what, self.scope) {
            (PROCESSORS, Scope::Recorded) | (_, Scope::Tree { .. }) => 2,
            (_, Scope::Recorded | Scope::System) => -1,
        };
        let advice = match self.error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => match self.paranoid {
                Some(level) if level > highest => format!(
                    "kernel.perf_event_paranoid is {level}: set it to {highest} (sysctl), or give this program \
                     CAP_PERFMON"
                ),
                _ => "a sandbox refuses perf_event_open: allow it there, for containers with a seccomp profile \
                      and CAP_PERFMON"
                    .into(),
            },
            Some(libc::ENOSYS) => "this kernel has no performance events, or a sandbox hides them".into(),
            Some(libc::EMFILE | libc::ENFILE) => "raise the limit of open files (ulimit -n)".into(),
            _ if self.error.kind() == io::ErrorKind::OutOfMemory => {
                "raise the limit of locked memory (ulimit -l), or give this program CAP_IPC_LOCK".into()
            }
            _ => "`sysprof-memprof doctor` shows what this machine can do".into(),
        };
        format!("{}: {} ({advice})", self.what, self.error)
    }
}

/// The kernel granted the event but not its ring: the user has locked too much memory already.
pub(super) fn locked_memory() -> io::Error {
    io::Error::new(io::ErrorKind::OutOfMemory, "no more memory may be locked for the rings of the kernel")
}

/// What to set to see the kernel's own work.
pub(super) fn without_kernel(what: &str) -> String {
    let subject = match what {
        FAULTS => "what the kernel touches for a program is not recorded",
        _ => "the kernel's part of stacks is not sampled",
    };
    let level = paranoid().map_or_else(|| "?".into(), |level| level.to_string());
    format!(
        "{subject} (kernel.perf_event_paranoid is {level}: set it to 1, or give this \
         program CAP_PERFMON)"
    )
}

/// The setting that decides what unprivileged users may sample.
pub(super) fn paranoid() -> Option<i32> {
    std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that each refusal says what to do, and takes this machine's level into account.
    #[test]
    fn refusals_say_what_to_set() {
        let tree = Scope::Tree { pid: 1, follow: true };
        for (errno, paranoid, scope, part) in [
            (libc::EACCES, Some(3), tree, "is 3: set it to 2"),
            (libc::EPERM, Some(2), tree, "a sandbox refuses perf_event_open"),
            (libc::EPERM, Some(1), Scope::System, "is 1: set it to -1"),
            (libc::EACCES, Some(-1), Scope::System, "a sandbox refuses perf_event_open"),
            (libc::EPERM, None, tree, "CAP_PERFMON"),
            (libc::ENOSYS, Some(2), tree, "no performance events"),
            (libc::EMFILE, Some(2), tree, "ulimit -n"),
            (libc::EBUSY, Some(2), tree, "doctor"),
        ] {
            let error = io::Error::from_raw_os_error(errno);
            check(Refusal { what: PROCESSORS, error, scope, paranoid }, part);
        }
        for error in [locked_memory(), io::Error::from_raw_os_error(libc::ENOMEM)] {
            check(Refusal { what: PROCESSORS, error, scope: tree, paranoid: Some(2) }, "ulimit -l");
        }
    }

    fn check(refusal: Refusal, part: &str) {
        let text = refusal.text();
        assert!(text.contains(part) && text.starts_with("CPU not sampled: "), "{text}");
        assert!(!text.contains('\n'), "{text}");
        assert!(!part.contains("ulimit") || !text.contains("sandbox"), "{text}");
    }
}
