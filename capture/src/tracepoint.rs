//! Tracepoints of the kernel, their hits, and the hits' columns in a file.
//!
//! ```text
//!  +-------------------+-------------+-------------------+--------------------+----------------------+-------------+
//!  | time: differences | task: varint| tracepoint: varint| stack: differences | cookie: differences  | size: varint|
//!  +-------------------+-------------+-------------------+--------------------+----------------------+-------------+
//! ```

use crate::columns;
use crate::error::Malformed;
use crate::ids::{NodeId, TaskId, TracepointId};
use crate::sample::SampleBounds;
use crate::varint;
use serde::{Deserialize, Serialize};

/// A place in the kernel that reports when execution passes it, and which of the reported fields are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tracepoint {
    /// Subsystem and name, as in `block:block_rq_issue`.
    pub name: String,
    /// The field whose values are added up; empty when hits are only counted.
    pub size: String,
    /// The unit of that field.
    pub unit: SizeUnit,
    /// The field that says which hits belong together; empty for none.
    pub cookie: String,
}

/// Unit of the sizes of hits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SizeUnit {
    /// Whatever the field's name says.
    #[default]
    Plain,
    /// Bytes.
    Bytes,
}

/// A thread passed a tracepoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hit {
    /// Nanoseconds since the recording began, as exact as [`crate::CpuSummary::clock_error_ns`] says.
    pub time: u64,
    /// The thread.
    pub task: TaskId,
    /// The tracepoint that it passed.
    pub tracepoint: TracepointId,
    /// Its stack, innermost the kernel's frames.
    pub stack: NodeId,
    /// Equal for hits that belong together, even of different tracepoints, such as the issue and the completion of a
    /// request; 0 where there is no such field.
    pub cookie: u64,
    /// Value of the field that is added up; 0 where there is none.
    pub size: u64,
}

/// How tracepoints were recorded, and what that missed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceSummary {
    /// Hits in the capture.
    pub hits: u64,
    /// Hits that the kernel dropped for want of room.
    pub lost: u64,
    /// Why hits of some tracepoint are missing, and what to do about it; empty when nothing is wrong.
    pub refused: String,
}

/// Appends the columns of hits.
pub(crate) fn put_hits(hits: &[Hit], payload: &mut Vec<u8>) {
    let mut columns: [Vec<u8>; 6] = Default::default();
    let [times, tasks, tracepoints, stacks, cookies, sizes] = &mut columns;
    let (mut time, mut stack, mut cookie) = (0, 0, 0);
    for hit in hits {
        varint::put_delta(times, time, hit.time);
        varint::put(tasks, hit.task.0.into());
        varint::put(tracepoints, hit.tracepoint.0.into());
        varint::put_delta(stacks, stack, hit.stack.0.into());
        varint::put_delta(cookies, cookie, hit.cookie);
        varint::put(sizes, hit.size);
        (time, stack, cookie) = (hit.time, hit.stack.0.into(), hit.cookie);
    }
    columns::join(&columns, payload);
}

/// Takes `count` hits, whose tracepoints must be known.
pub(crate) fn take_hits(
    payload: &[u8],
    count: usize,
    bounds: SampleBounds,
    known: usize,
) -> Result<Vec<Hit>, Malformed> {
    let [mut times, mut tasks, mut tracepoints, mut stacks, mut cookies, mut sizes] =
        columns::split::<6>(payload)?.map(|range| &payload[range]);
    // Each hit takes a byte of each column, so a hostile count alone allocates nothing.
    let mut hits = Vec::with_capacity(count.min(times.len()));
    let (mut time, mut stack, mut cookie) = (0, 0, 0);
    for _ in 0..count {
        time = varint::take_delta(&mut times, time)?;
        stack = varint::take_delta(&mut stacks, stack)?;
        cookie = varint::take_delta(&mut cookies, cookie)?;
        let task = TaskId(varint::take_u32(&mut tasks)?);
        let tracepoint = TracepointId(varint::take_u32(&mut tracepoints)?);
        let size = varint::take(&mut sizes)?;
        let node = u32::try_from(stack).map(NodeId).ok().filter(|node| node.index() < bounds.nodes);
        let Some(stack) = node else { return Err(Malformed("a hit refers to an unknown stack")) };
        if task.index() >= bounds.tasks {
            return Err(Malformed("a hit refers to an unknown task"));
        }
        if tracepoint.index() >= known {
            return Err(Malformed("a hit refers to an unknown tracepoint"));
        }
        hits.push(Hit { time, task, tracepoint, stack, cookie, size });
    }
    Ok(hits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: SampleBounds = SampleBounds { tasks: 1 << 32, nodes: 1 << 32 };

    prop_compose! {
        fn hit()(time: u64, task: u32, tracepoint in 0..9_u32, stack: u32, cookie: u64, size: u64) -> Hit {
            let (task, tracepoint, stack) = (TaskId(task), TracepointId(tracepoint), NodeId(stack));
            Hit { time, task, tracepoint, stack, cookie, size }
        }
    }

    proptest! {
        /// Check that any hits come back.
        #[test]
        fn hits_come_back(hits in prop::collection::vec(hit(), 0..50)) {
            let mut payload = Vec::new();
            put_hits(&hits, &mut payload);
            prop_assert_eq!(take_hits(&payload, hits.len(), ALL, 9), Ok(hits));
        }

        /// Check that arbitrary bytes give hits within their bounds or an error, and allocate nothing for hits that
        /// are not there.
        #[test]
        fn arbitrary_bytes_stay_in_bounds(payload: Vec<u8>, count in 0usize..1 << 20) {
            if let Ok(hits) = take_hits(&payload, count, SampleBounds { tasks: 2, nodes: 3 }, 2) {
                prop_assert!(hits.capacity() <= payload.len());
                prop_assert!(hits.iter().all(|hit| hit.task.0 < 2 && hit.stack.0 < 3 && hit.tracepoint.0 < 2));
            }
        }
    }
}
