//! Costs as flat fields.

use crate::analysis::Cost;
use serde::Serialize;

/// The numbers of a stack, or of a whole capture.
#[derive(Serialize)]
pub(super) struct CostFields {
    allocations: i64,
    bytes: i64,
    frees: i64,
    freed_bytes: i64,
    live_blocks: i64,
    live_bytes: i64,
    temporary: i64,
    temporary_bytes: i64,
    peak_blocks: i64,
    peak_bytes: i64,
    leaked_blocks: i64,
    leaked_bytes: i64,
    uncertain_blocks: i64,
    uncertain_bytes: i64,
    exec_blocks: i64,
    exec_bytes: i64,
}

impl From<&Cost> for CostFields {
    fn from(cost: &Cost) -> Self {
        let live = cost.live();
        Self {
            allocations: cost.allocated.blocks,
            bytes: cost.allocated.bytes,
            frees: cost.freed.blocks,
            freed_bytes: cost.freed.bytes,
            live_blocks: live.blocks,
            live_bytes: live.bytes,
            temporary: cost.temporary.blocks,
            temporary_bytes: cost.temporary.bytes,
            peak_blocks: cost.peak.blocks,
            peak_bytes: cost.peak.bytes,
            leaked_blocks: cost.leaked.blocks,
            leaked_bytes: cost.leaked.bytes,
            uncertain_blocks: cost.uncertain.blocks,
            uncertain_bytes: cost.uncertain.bytes,
            exec_blocks: cost.at_exec.blocks,
            exec_bytes: cost.at_exec.bytes,
        }
    }
}
