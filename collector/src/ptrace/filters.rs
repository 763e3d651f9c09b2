//! The filters on a process's system calls, which the kernel shows to a tracer.

use super::refusal::Refusal;
use super::tracee::Tracee;
use super::tracer::{Job, Link, ask};
use serde::{Deserialize, Serialize};
use std::io;
use std::time::{Duration, Instant};

/// A thread that has not stopped by then is deep in the kernel, and is left alone.
const TIMEOUT: Duration = Duration::from_millis(100);

/// Filters, each as its instructions.
pub(crate) type Filters = Vec<Vec<[u8; 8]>>;

/// The filters of a process's first thread, which is stopped for a moment. Only root may read them.
///
/// # Errors
/// Why they cannot be read.
pub(crate) fn filters(pid: u32) -> Result<Filters, Refusal> {
    ask(FiltersJob { pid }).map(|(filters, _)| filters)
}

/// Reads the filters on a process's system calls.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FiltersJob {
    pid: u32,
}

impl Job for FiltersJob {
    const NAME: &'static str = "filters";
    const THREAD: &'static str = "scan";

    fn serve(self, link: &Link) {
        let read = read(self.pid).map_err(|error| Refusal::of(self.pid, error));
        super::tracee::late::settle();
        let _ = link.send(&read);
    }
}

fn read(pid: u32) -> io::Result<Filters> {
    let mut thread = Tracee::seize(pid)?;
    thread.interrupt()?;
    if !thread.wait_interrupted(Instant::now() + TIMEOUT)? {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let mut filters = Filters::new();
    while let Some(filter) = thread.filter(filters.len())? {
        filters.push(filter);
    }
    Ok(filters)
}
