//! What was sampled.

use super::without_agent::WithoutAgent;
use capture::{CpuSummary, FaultSummary};

/// What the capture says about samples and page faults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sampled {
    pub(crate) cpu: CpuSummary,
    pub(crate) faults: FaultSummary,
    /// Names of programs that recorded processes started and that have no agent.
    pub(crate) without_agent: WithoutAgent,
    /// Number of sampled processes whose program is unknown.
    pub(crate) nameless: u64,
    /// Process records that were lost.
    pub(crate) untold: u64,
    /// Stacks without room for all of their frames.
    pub(crate) cut: u64,
}
