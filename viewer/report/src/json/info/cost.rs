//! What the recording cost.

use capture::{Effort, Overhead, Summary};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Cost {
    agent_cpu_ns: u64,
    collector_cpu_ns: u64,
    drain_cpu_ns: u64,
    writer_cpu_ns: u64,
    wake_ups: u64,
    wait_ns: u64,
    held_ns: u64,
    collector_peak_rss: u64,
    shared_memory: u64,
    agent_allocations: u64,
}

impl Cost {
    pub(super) fn of(summary: &Summary) -> Self {
        let Overhead {
            agent_cpu_ns,
            collector_cpu_ns,
            wait_ns,
            collector_peak_rss,
            shared_memory,
            agent_allocations,
        } = summary.overhead;
        let Effort { drain_cpu_ns, writer_cpu_ns, wake_ups, held_ns } = summary.effort;
        Self {
            agent_cpu_ns,
            collector_cpu_ns,
            drain_cpu_ns,
            writer_cpu_ns,
            wake_ups,
            wait_ns,
            held_ns,
            collector_peak_rss,
            shared_memory,
            agent_allocations,
        }
    }
}
