//! Totals over all processes.

use super::lost::AnomalyFields;
use analysis::{Amount, Anomalies, Profile};
use engine::Loaded;
use engine::suppression::Left;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Totals {
    allocations: i64,
    allocated_bytes: i64,
    frees: i64,
    freed_bytes: i64,
    temporary: i64,
    temporary_bytes: i64,
    peak_bytes: i64,
    peak_blocks: i64,
    peak_time_ns: u64,
    leaked_blocks: i64,
    leaked_bytes: i64,
    running_blocks: i64,
    running_bytes: i64,
    left: LeftFields,
    most_resident_bytes: Option<u64>,
    uncertain_blocks: i64,
    uncertain_bytes: i64,
    exec_blocks: i64,
    exec_bytes: i64,
    #[serde(flatten)]
    errors: Option<TotalErrors>,
    #[serde(flatten, with = "AnomalyFields")]
    anomalies: Anomalies,
    failed_calls: u64,
    stray_events: u64,
}

/// What was never freed, in parts.
#[derive(Serialize)]
struct LeftFields {
    leaked: AmountFields,
    held: AmountFields,
    suppressed: AmountFields,
}

#[derive(Serialize)]
struct AmountFields {
    blocks: i64,
    bytes: i64,
}

impl From<Left> for LeftFields {
    fn from(Left { leaked, held, suppressed }: Left) -> Self {
        let fields = |(Amount { blocks, bytes }, _)| AmountFields { blocks, bytes };
        Self { leaked: fields(leaked), held: fields(held), suppressed: fields(suppressed) }
    }
}

/// Standard errors of the totals of a sampled capture.
#[derive(Serialize)]
struct TotalErrors {
    allocations_stderr: i64,
    allocated_bytes_stderr: i64,
    frees_stderr: i64,
    freed_bytes_stderr: i64,
    temporary_stderr: i64,
    temporary_bytes_stderr: i64,
    peak_bytes_stderr: i64,
    peak_blocks_stderr: i64,
    leaked_blocks_stderr: i64,
    leaked_bytes_stderr: i64,
    running_blocks_stderr: i64,
    running_bytes_stderr: i64,
    uncertain_blocks_stderr: i64,
    uncertain_bytes_stderr: i64,
    exec_blocks_stderr: i64,
    exec_bytes_stderr: i64,
}

pub(super) fn totals(loaded: &Loaded) -> Totals {
    let profile = &loaded.profile;
    let total = &profile.total;
    let running = profile.still_running();
    Totals {
        allocations: total.allocated.blocks,
        allocated_bytes: total.allocated.bytes,
        frees: total.freed.blocks,
        freed_bytes: total.freed.bytes,
        temporary: total.temporary.blocks,
        temporary_bytes: total.temporary.bytes,
        peak_bytes: profile.peak.held.bytes,
        peak_blocks: profile.peak.held.blocks,
        peak_time_ns: profile.peak.at.time,
        leaked_blocks: total.leaked.blocks,
        leaked_bytes: total.leaked.bytes,
        running_blocks: running.blocks,
        running_bytes: running.bytes,
        left: Left::of(loaded).into(),
        most_resident_bytes: loaded.most_resident_process().map(|(_, peak)| peak.bytes),
        uncertain_blocks: total.uncertain.blocks,
        uncertain_bytes: total.uncertain.bytes,
        exec_blocks: total.at_exec.blocks,
        exec_bytes: total.at_exec.bytes,
        errors: profile.sampling.map(|_| total_errors(profile)),
        anomalies: profile.anomalies(),
        failed_calls: profile.failed_calls(),
        stray_events: profile.stray_events,
    }
}

fn total_errors(profile: &Profile) -> TotalErrors {
    let (total, running) = (&profile.total_spread, profile.still_running_spread());
    TotalErrors {
        allocations_stderr: total.allocated.blocks_error(),
        allocated_bytes_stderr: total.allocated.bytes_error(),
        frees_stderr: total.freed.blocks_error(),
        freed_bytes_stderr: total.freed.bytes_error(),
        temporary_stderr: total.temporary.blocks_error(),
        temporary_bytes_stderr: total.temporary.bytes_error(),
        peak_bytes_stderr: total.peak.bytes_error(),
        peak_blocks_stderr: total.peak.blocks_error(),
        leaked_blocks_stderr: total.leaked.blocks_error(),
        leaked_bytes_stderr: total.leaked.bytes_error(),
        running_blocks_stderr: running.blocks_error(),
        running_bytes_stderr: running.bytes_error(),
        uncertain_blocks_stderr: total.uncertain.blocks_error(),
        uncertain_bytes_stderr: total.uncertain.bytes_error(),
        exec_blocks_stderr: total.at_exec.blocks_error(),
        exec_bytes_stderr: total.at_exec.bytes_error(),
    }
}
