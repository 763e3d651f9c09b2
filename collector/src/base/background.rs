//! Work that is not urgent, beside services that are.

use super::log::debug;
use rustix::process::{getpriority_process, setpriority_process};

/// Low priority, for work nobody has to wait for long: a tenth of a processor when all are busy.
const NICE: i32 = 10;

/// Does some work, in a lower-priority thread if it is `watched`: recorded processes run on meanwhile. A separate
/// thread, because an ordinary user cannot raise a thread's priority again.
pub(crate) fn in_background<T: Send>(watched: bool, work: impl FnOnce() -> T + Send) -> T {
    if !watched {
        return work();
    }
    let run = || {
        // On Linux, priority is per thread: this sets that of this thread and of those it starts.
        let nice = getpriority_process(None).unwrap_or(0).max(NICE);
        if let Err(error) = setpriority_process(None, nice) {
            debug!("the priority stays as it is: {error}");
        }
        work()
    };
    std::thread::scope(|scope| match scope.spawn(run).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that only background work has a lower priority, and that its starter keeps its own.
    #[test]
    fn priority_is_that_of_the_work_alone() {
        let before = getpriority_process(None);
        assert_eq!(in_background(false, || getpriority_process(None)), before);
        let beside = in_background(true, || {
            std::thread::scope(|scope| scope.spawn(|| getpriority_process(None)).join())
        });
        assert_eq!(beside.ok().and_then(Result::ok), Some(NICE.max(before.unwrap_or(0))));
        assert_eq!(getpriority_process(None), before);
    }
}
