//! The trace format of Perfetto (<https://ui.perfetto.dev>): heap profiles, CPU samples, counters and marks on one time
//! line. The messages are those of `perfetto_trace.proto`, the numbers of fields those of release 59.
//!
//! ```text
//!  Trace ─► TracePacket ─┬─ ProfilePacket      at each moment, the stacks that allocated or freed since the one before
//!                        ├─ PerfSample         a CPU sample
//!                        ├─ TrackEvent         a mark, a region, a value of a counter
//!                        ├─ TrackDescriptor    a process, a thread, a counter
//!                        └─ InternedData       names, frames and call stacks, before the packet that first uses them
//! ```
//!
//! A heap profile counts from the beginning of the recording, so that the UI shows what any moment holds and, for a
//! selected range, what that allocated and freed. Moments are steps of time, the peak, and marks. Processes that share a
//! pid, since one replaced the other by `exec`, are one process here.

mod heap;
mod packets;
mod stacks;
mod tracks;

use crate::events::{counted_samples, sample_interval};
use crate::protobuf::Message;
use capture::ProcessId;
use engine::{Error, Events, Loaded};
use heap::Heap;
use packets::Packets;
use std::collections::HashMap;
use std::io::Write;
use tracks::Tracks;

/// Writes all processes.
pub(super) fn write(out: &mut dyn Write, loaded: &Loaded, events: &dyn Events) -> Result<(), Error> {
    let mut packets = Packets::new(out, loaded);
    packets.head(&defaults(loaded))?;
    let mut tracks = Tracks::new(loaded);
    tracks.describe(&mut packets)?;
    let Heap { tracks, .. } = heap::write(&mut packets, tracks, events)?;
    tracks.finish(&mut packets)?;
    samples(&mut packets, loaded, events)
}

/// The process id in which Perfetto tells processes apart.
fn pid_of(loaded: &Loaded, process: ProcessId) -> u64 {
    loaded.tables.processes.get(process.index()).map_or(0, |row| row.pid.into())
}

/// What is the same for all CPU samples: how often they were taken, and by which event.
fn defaults(loaded: &Loaded) -> Message {
    const CPU_CLOCK: u64 = 1;
    const CPU_CYCLES: u64 = 10;
    let frequency = 1_000_000_000 / sample_interval(loaded);
    let counter = if loaded.counts_cycles() { CPU_CYCLES } else { CPU_CLOCK };
    let timebase = Message::new().uint(2, frequency).uint(4, counter).clone();
    Message::new().message(12, Message::new().message(1, &timebase)).clone()
}

fn samples(packets: &mut Packets<'_>, loaded: &Loaded, events: &dyn Events) -> Result<(), Error> {
    // Nanoseconds or cycles of each processor until now.
    let mut worked: HashMap<u32, u64> = HashMap::new();
    for (process, sample) in counted_samples(loaded, events)? {
        let Some(task) = loaded.tables.tasks.get(sample.task.index()) else { continue };
        let worked = worked.entry(sample.cpu).or_default();
        *worked = worked.saturating_add(sample.weight);
        let stack = packets.stack(sample.stack);
        let mut body = Message::new();
        body.uint(1, sample.cpu.into()).uint(2, pid_of(loaded, process)).uint(3, task.tid.into());
        body.uint(4, stack).uint(6, *worked);
        packets.write(sample.time, 66, &body)?;
    }
    Ok(())
}
