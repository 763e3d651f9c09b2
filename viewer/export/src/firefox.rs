//! The format of the Firefox Profiler (<https://profiler.firefox.com>): CPU time, allocations and bytes held, by
//! thread and over time.
//!
//! ```text
//!  process ─┬► its first thread ─┬► native allocations   time, stack, address, bytes (negative: freed)
//!           │                    ├► samples              time, stack, CPU time since the last one
//!           │                    └► markers              marks, beginning and end, losses, pauses
//!           ├► other threads ─────► samples, markers
//!           └► counters `malloc`, `rss`, `processCPU`    tracks, in steps
//! ```
//!
//! All allocations of a process are on its first thread, as in Firefox itself, since the profiler matches frees with
//! allocations thread by thread.
//!
//! The profiler holds a profile in memory, and so does this writer. So whatever is too much is summed up: blocks
//! ([`allocations`]), samples ([`samples`]) and losses ([`markers`]). Sums and tracks stay the same.

mod allocations;
mod counters;
mod markers;
mod samples;
mod tracks;

use engine::{Error, Events, Loaded};
use std::io::Write;
use tracks::Tracks;

/// Writes all processes.
pub(super) fn write(out: &mut dyn Write, loaded: &Loaded, events: &dyn Events) -> Result<(), Error> {
    let mut tracks = Tracks::new(loaded);
    let happened = allocations::add(&mut tracks, loaded, events)?;
    samples::add(&mut tracks, loaded, events)?;
    markers::add(&mut tracks, loaded, happened);
    counters::add(&mut tracks, loaded);
    serde_json::to_writer(&mut *out, &tracks.finish()).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}
