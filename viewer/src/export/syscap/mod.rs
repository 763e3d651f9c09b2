//! The format of GNOME Sysprof.
//!
//! ```text
//!  header   256 bytes: magic, times
//!  PROCESS  pid and command line, for each process
//!  ALLOCATION …                       sorted by time; size 0 is a free
//!  TIMESTAMP
//!  FILE_CHUNK "__symbols__" …         the names of all addresses
//! ```
//!
//! Frames lie back to back, little-endian, each of a multiple of 8 bytes and at most 65,528.
//!
//! Sysprof has one function for an address, but the compiler may have inlined several. So the addresses here are not
//! those of the program: each function has one of its own, and `__symbols__` says which.
//!
//! What Sysprof cannot say: a block of 0 bytes (that means *free*) has 1 byte, and stacks of more than 1,024 functions,
//! which it would leave out, end there.

mod frame;
mod symbols;

use super::events::{self, Events, Weight, observe};
use super::places::places;
use crate::analysis::{Birth, Death, End, Life, Site, Watch, process_name};
use crate::loaded::Loaded;
use crate::open::Error;
use capture::{NodeId, Process, ProcessId, ThreadId};
use frame::{Frame, Kind};
use std::io::{self, Write};

/// `CLOCK_MONOTONIC` at the start, nanoseconds: the capture does not have it, and 0 means that nothing is known.
const START: u64 = 1_000_000_000;

/// Sysprof leaves out longer stacks.
const MOST_ADDRESSES: usize = 1024;

/// Longest command line that is written: a frame has an end.
const LONGEST_COMMAND: usize = 32 << 10;

/// Writes all allocations and frees, and the names of their stacks.
pub(super) fn write(out: &mut dyn Write, loaded: &Loaded, events: &dyn Events) -> Result<(), Error> {
    let end = START.saturating_add(events::end(loaded));
    out.write_all(&frame::header(loaded.tables.metadata.started_unix_ns, START, end))?;
    for process in &loaded.tables.processes {
        Frame::new(Kind::Process, pid(process), START).text(&command(process)).write(out)?;
    }
    let writer =
        Writer { out, result: Ok(()), loaded, weight: Weight::new(loaded), stack: Vec::new(), time: START };
    let Writer { out, result, .. } = observe(loaded, events, writer)?;
    result?;
    // Readers of old leave out the frame before the first chunk of this file, if it is a chunk of another one.
    Frame::new(Kind::Timestamp, -1, end).write(out)?;
    symbols::write(out, loaded, end)?;
    Ok(())
}

fn pid(process: &Process) -> i32 {
    process.pid.cast_signed()
}

/// A command line, or what stands for it.
fn command(process: &Process) -> String {
    let mut command = match process.command.is_empty() {
        false => process.command.join(" "),
        true if !process.executable.is_empty() => process.executable.clone(),
        true => process_name(process),
    };
    command.truncate(command.floor_char_boundary(LONGEST_COMMAND));
    command
}

struct Writer<'a, 'o> {
    out: &'o mut dyn Write,
    /// The first failure; nothing is written after it.
    result: io::Result<()>,
    loaded: &'a Loaded,
    weight: Weight,
    stack: Vec<u64>,
    /// That of the last frame. Times in a capture are rounded, but frames are to be in their order.
    time: u64,
}

/// What a block does.
struct Happening {
    process: ProcessId,
    thread: ThreadId,
    time: u64,
    address: u64,
    /// 0 for a free.
    size: i64,
}

impl Writer<'_, '_> {
    fn write(&mut self, what: &Happening) {
        if self.result.is_err() {
            return;
        }
        let tables = &self.loaded.tables;
        let process = tables.processes.get(what.process.index()).map_or(-1, pid);
        let tid = tables.threads.get(what.thread.index()).map_or(-1, |thread| thread.tid.cast_signed());
        self.time = self.time.max(START.saturating_add(what.time));
        let mut frame = Frame::new(Kind::Allocation, process, self.time);
        frame.u64(what.address).u64(what.size.cast_unsigned()).u32(tid.cast_unsigned());
        frame.u16(self.stack.len() as u16).u16(0);
        self.stack.iter().for_each(|&address| {
            frame.u64(address);
        });
        self.result = frame.write(self.out);
    }

    fn stack_of(&mut self, process: ProcessId, node: NodeId) {
        self.stack.clear();
        let site = Site { process, thread: None, node, cost: Default::default() };
        let functions = places(self.loaded, &site).map(|place| symbols::address(place.label));
        self.stack.extend(functions.take(MOST_ADDRESSES));
        // Sysprof shows the process itself; a stack of nothing else must not be empty.
        if self.stack.len() > 1 {
            let process = symbols::address(self.loaded.names.process(process));
            self.stack.pop_if(|last| *last == process);
        }
    }
}

impl Watch for Writer<'_, '_> {
    type Kept = ();

    fn born(&mut self, birth: &Birth, _: Option<&Life<()>>) {
        self.stack_of(birth.process, birth.node);
        let &Birth { process, thread, address, at, size, .. } = birth;
        let size = self.weight.bytes(size).max(1);
        self.write(&Happening { process, thread, time: at.time, address, size });
    }

    fn died(&mut self, life: &Life<()>, death: &Death) {
        let &Life { process, address, .. } = life;
        let thread = match death.end {
            End::Freed { thread, .. } | End::Resized { thread, .. } => thread,
            End::Displaced { .. } => life.thread,
            // What was never freed is what Sysprof calls leaked.
            End::Left { .. } => return,
        };
        self.stack.clear();
        self.write(&Happening { process, thread, time: death.at.time, address, size: 0 });
    }
}
