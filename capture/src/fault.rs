//! Page faults, and their columns in a file.
//!
//! ```text
//!  +-------------------+-------------+----------------------+--------------------+-------------+
//!  | time: differences | task: varint| address: differences | stack: differences | region: u8  |
//!  +-------------------+-------------+----------------------+--------------------+-------------+
//! ```

use crate::columns;
use crate::error::Malformed;
use crate::ids::{NodeId, TaskId};
use crate::numbered::numbered;
use crate::sample::SampleBounds;
use crate::varint;

/// A thread touched memory with no page, or wrote to a page that it may not write to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// Nanoseconds since the recording began, as exact as [`crate::CpuSummary::clock_error_ns`] says.
    pub time: u64,
    /// The thread.
    pub task: TaskId,
    /// The address that it touched.
    pub address: u64,
    /// Its stack; [`NodeId::ROOT`] where there was no room for it.
    pub stack: NodeId,
    /// The kind of memory that the address lies in.
    pub region: Region,
}

numbered! {
    /// What kind of memory a page belongs to, by the mapping that holds it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Region: u8 {
        /// No mapping is known there.
        #[default]
        Unknown = 0,
        /// Between the program's end and its break: `[heap]`.
        Heap = 1,
        /// Anonymous memory.
        Anonymous = 2,
        /// The stack of the thread that touched it.
        Stack = 3,
        /// A file, or named shared memory.
        File = 4,
    }
}

/// Appends the columns of these faults.
pub(crate) fn put_faults(faults: &[Fault], payload: &mut Vec<u8>) {
    let mut columns: [Vec<u8>; 5] = Default::default();
    let [times, tasks, addresses, stacks, regions] = &mut columns;
    let (mut time, mut address, mut stack) = (0, 0, 0);
    for fault in faults {
        varint::put_delta(times, time, fault.time);
        varint::put(tasks, fault.task.0.into());
        varint::put_delta(addresses, address, fault.address);
        varint::put_delta(stacks, stack, fault.stack.0.into());
        regions.push(fault.region as u8);
        (time, address, stack) = (fault.time, fault.address, fault.stack.0.into());
    }
    columns::join(&columns, payload);
}

/// Takes `count` faults.
pub(crate) fn take_faults(
    payload: &[u8],
    count: usize,
    bounds: SampleBounds,
) -> Result<Vec<Fault>, Malformed> {
    let [mut times, mut tasks, mut addresses, mut stacks, regions] =
        columns::split::<5>(payload)?.map(|range| &payload[range]);
    let Some(regions) = regions.get(..count) else { return Err(Malformed("a column ends inside a number")) };
    let mut faults = Vec::with_capacity(regions.len());
    let (mut time, mut address, mut stack) = (0, 0, 0);
    for &region in regions {
        time = varint::take_delta(&mut times, time)?;
        address = varint::take_delta(&mut addresses, address)?;
        stack = varint::take_delta(&mut stacks, stack)?;
        let task = TaskId(varint::take_u32(&mut tasks)?);
        let node = u32::try_from(stack).map(NodeId).ok().filter(|node| node.index() < bounds.nodes);
        let Some(stack) = node else { return Err(Malformed("a page fault refers to an unknown stack")) };
        if task.index() >= bounds.tasks {
            return Err(Malformed("a page fault refers to an unknown task"));
        }
        faults.push(Fault {
            time,
            task,
            address,
            stack,
            region: Region::from_number(region).unwrap_or_default(),
        });
    }
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: SampleBounds = SampleBounds { tasks: 1 << 32, nodes: 1 << 32 };

    fn fault() -> impl Strategy<Value = Fault> {
        let region = prop::sample::select(&Region::ALL);
        (any::<u64>(), any::<u32>(), any::<u64>(), any::<u32>(), region).prop_map(
            |(time, task, address, stack, region)| Fault {
                time,
                task: TaskId(task),
                address,
                stack: NodeId(stack),
                region,
            },
        )
    }

    /// Check that a region added by a later version reads as unknown.
    #[test]
    fn later_regions_are_unknown() {
        let mut payload = Vec::new();
        put_faults(&[Fault { region: Region::File, ..Fault::default() }], &mut payload);
        *payload.last_mut().unwrap() = 200;
        assert_eq!(take_faults(&payload, 1, ALL), Ok(vec![Fault::default()]));
    }

    proptest! {
        /// Check that any faults come back, with addresses at both ends of the address space, too.
        #[test]
        fn faults_come_back(faults in prop::collection::vec(fault(), 0..50)) {
            let mut payload = Vec::new();
            put_faults(&faults, &mut payload);
            prop_assert_eq!(take_faults(&payload, faults.len(), ALL), Ok(faults));
        }

        /// Check that arbitrary bytes give faults within their bounds or an error, and allocate nothing for faults
        /// that are not there.
        #[test]
        fn arbitrary_bytes_stay_in_bounds(payload: Vec<u8>, count in 0usize..1 << 20) {
            if let Ok(faults) = take_faults(&payload, count, SampleBounds { tasks: 2, nodes: 3 }) {
                prop_assert!(faults.capacity() <= payload.len());
                prop_assert!(faults.iter().all(|fault| fault.task.0 < 2 && fault.stack.0 < 3));
            }
        }
    }
}
