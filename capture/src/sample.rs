//! Samples of the processors, and their columns in a file.
//!
//! ```text
//!  +-------------------+-------------+-----------+--------------------+--------------+
//!  | time: differences | task: varint| cpu: varint| stack: differences | weight: varint|
//!  +-------------------+-------------+-----------+--------------------+--------------+
//! ```

use crate::columns;
use crate::error::Malformed;
use crate::ids::{NodeId, TaskId};
use crate::varint;

/// What a processor was doing at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Nanoseconds since the recording began, as exact as [`crate::CpuSummary::clock_error_ns`] says.
    pub time: u64,
    /// The thread that the processor ran.
    pub task: TaskId,
    /// The processor.
    pub cpu: u32,
    /// The stack, innermost the kernel's frames if it was in the kernel.
    pub stack: NodeId,
    /// Nanoseconds of work that the sample stands for; processor cycles where those were counted.
    pub weight: u64,
}

/// Exclusive upper bounds of the ids in samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleBounds {
    pub(crate) tasks: usize,
    pub(crate) nodes: usize,
}

/// Appends the columns of these samples.
pub(crate) fn put_samples(samples: &[Sample], payload: &mut Vec<u8>) {
    let mut columns: [Vec<u8>; 5] = Default::default();
    let [times, tasks, cpus, stacks, weights] = &mut columns;
    let (mut time, mut stack) = (0, 0);
    for sample in samples {
        varint::put_delta(times, time, sample.time);
        varint::put(tasks, sample.task.0.into());
        varint::put(cpus, sample.cpu.into());
        varint::put_delta(stacks, stack, sample.stack.0.into());
        varint::put(weights, sample.weight);
        (time, stack) = (sample.time, sample.stack.0.into());
    }
    columns::join(&columns, payload);
}

/// Takes `count` samples.
pub(crate) fn take_samples(
    payload: &[u8],
    count: usize,
    bounds: SampleBounds,
) -> Result<Vec<Sample>, Malformed> {
    let [mut times, mut tasks, mut cpus, mut stacks, mut weights] =
        columns::split::<5>(payload)?.map(|range| &payload[range]);
    // Each sample takes a byte of each column, so a hostile count alone allocates nothing.
    let mut samples = Vec::with_capacity(count.min(times.len()));
    let (mut time, mut stack) = (0, 0);
    for _ in 0..count {
        time = varint::take_delta(&mut times, time)?;
        stack = varint::take_delta(&mut stacks, stack)?;
        let task = TaskId(varint::take_u32(&mut tasks)?);
        let node = u32::try_from(stack).map(NodeId).ok().filter(|node| node.index() < bounds.nodes);
        let Some(node) = node else { return Err(Malformed("a sample refers to an unknown stack")) };
        if task.index() >= bounds.tasks {
            return Err(Malformed("a sample refers to an unknown task"));
        }
        let (cpu, weight) = (varint::take_u32(&mut cpus)?, varint::take(&mut weights)?);
        samples.push(Sample { time, task, cpu, stack: node, weight });
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: SampleBounds = SampleBounds { tasks: 1 << 32, nodes: 1 << 32 };

    prop_compose! {
        fn sample()(time: u64, task: u32, cpu: u32, stack: u32, weight: u64) -> Sample {
            Sample { time, task: TaskId(task), cpu, stack: NodeId(stack), weight }
        }
    }

    proptest! {
        /// Check that any samples come back.
        #[test]
        fn samples_come_back(samples in prop::collection::vec(sample(), 0..50)) {
            let mut payload = Vec::new();
            put_samples(&samples, &mut payload);
            prop_assert_eq!(take_samples(&payload, samples.len(), ALL), Ok(samples));
        }

        /// Check that arbitrary bytes give samples within their bounds or an error, and allocate nothing for samples
        /// that are not there.
        #[test]
        fn arbitrary_bytes_stay_in_bounds(payload: Vec<u8>, count in 0usize..1 << 20) {
            if let Ok(samples) = take_samples(&payload, count, SampleBounds { tasks: 2, nodes: 3 }) {
                prop_assert!(samples.capacity() <= payload.len());
                prop_assert!(samples.iter().all(|sample| sample.task.0 < 2 && sample.stack.0 < 3));
            }
        }
    }
}
