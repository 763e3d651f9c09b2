//! The format of GNOME Sysprof.
//!
//! ```text
//!  header   256 bytes: magic, times
//!  PROCESS  pid and command line, for each process
//!  CTRDEF   definitions of counters
//!  ALLOCATION, SAMPLE, CTRSET, MARK …   by time; an allocation of size 0 is a free
//!  TIMESTAMP
//!  FILE_CHUNK "__symbols__" …           the names of all addresses
//! ```
//!
//! Frames are contiguous, little-endian, each a multiple of 8 bytes and at most 16 KiB. They are written as events
//! and samples are read; only marks of gaps and pauses, which are known when these are over, come after what happened
//! meanwhile.
//!
//! Sysprof has one function per address, but the compiler may have inlined several there. So the addresses here are
//! not those of the program: each function has an address of its own, which `__symbols__` resolves. No mapped files
//! need to be looked up, so no frame describes them.
//!
//! What Sysprof cannot represent: a block of 0 bytes (which would mean *free*) gets 1 byte, stacks of more than 1,024
//! functions, which it would leave out, are truncated, and each sample counts as one, however much CPU time it stands
//! for.

mod allocations;
mod counters;
mod frame;
mod frames;
mod side_events;
mod stacks;
mod symbols;

use super::events;
use allocations::Writer;
use analysis::process_name;
use capture::{Process, ProcessId};
use engine::{Error, Events, Loaded, observe};
use frame::{Frame, Kind, LONGEST_TEXT};
use frames::{Frames, START};
use std::io::Write;

/// Writes all allocations and frees, samples, counters and marks, and the names of their stacks.
pub(super) fn write(out: &mut dyn Write, loaded: &Loaded, events: &dyn Events) -> Result<(), Error> {
    let end = START.saturating_add(events::end(loaded));
    out.write_all(&frame::header(loaded.tables.metadata.started_unix_ns, START, end))?;
    for process in &loaded.tables.processes {
        Frame::new(Kind::Process, process.pid.cast_signed(), START).text(&command(process)).write(out)?;
    }
    let writer = Writer::new(Frames::new(out, end), loaded, events)?;
    let out = observe(loaded, events, writer)?.finish().finish()?;
    // Old readers skip the frame before the first chunk of this file, if it is a chunk of another one.
    Frame::new(Kind::Timestamp, -1, end).write(out)?;
    symbols::write(out, loaded, end)?;
    Ok(())
}

/// -1 for a process that the capture does not define.
fn pid_of(loaded: &Loaded, process: ProcessId) -> i32 {
    loaded.tables.processes.get(process.index()).map_or(-1, |process| process.pid.cast_signed())
}

/// A command line, or a substitute.
fn command(process: &Process) -> String {
    let mut command = match process.command.is_empty() {
        false => process.command.join(" "),
        true if !process.executable.is_empty() => process.executable.clone(),
        true => process_name(process),
    };
    command.truncate(command.floor_char_boundary(LONGEST_TEXT));
    command
}
