//! Work that has time, beside services that have none.

use crate::log::debug;
use rustix::process::{getpriority_process, setpriority_process};

/// As far below others as work goes that nobody has to wait long for: a tenth of a processor where all are busy.
const NICE: i32 = 10;

/// Does some work, in a thread of its own with a lower priority if somebody is `watched` who goes on working meanwhile. A thread
/// of its own, because a user's thread never gets its priority back.
pub(crate) fn in_background<T: Send>(watched: bool, work: impl FnOnce() -> T + Send) -> T {
    if !watched {
        return work();
    }
    let run = || {
        // Linux has priorities of threads: this one's, and of those that it starts.
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

    /// Check that only the work beside others has another priority, and whoever started it keeps theirs.
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
