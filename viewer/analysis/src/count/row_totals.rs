//! Numbers of a pass that goes on.

use super::profile::{Anomalies, GapTotals};
use crate::base::cost::Amount;
use capture::{NodeId, ProcessId};

/// The present numbers of a stack of a process. Blocks of sampled recordings are in fractions: see
/// [`ProfileBuilder::whole`](super::builder::ProfileBuilder::whole).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowTotals {
    /// The process.
    pub process: ProcessId,
    /// The stack.
    pub node: NodeId,
    /// Allocated and not freed so far, by processes that still run.
    pub held: Amount,
    /// Allocated so far.
    pub allocated: Amount,
    /// Of these, freed so far.
    pub freed: Amount,
    /// Of these, freed by the thread that allocated them before its next allocation.
    pub temporary: Amount,
    /// Not freed by the time its process ended.
    pub left: Amount,
}

/// What is known of a whole process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessAnomalies {
    /// Events that contradict each other.
    pub anomalies: Anomalies,
    /// What the recording lost.
    pub gaps: GapTotals,
}
