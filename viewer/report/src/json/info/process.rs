//! Single processes.

use super::by_name;
use super::lost::{AnomalyFields, GapFields};
use crate::ended::ended_word;
use crate::json::reported::PauseFields;
use analysis::{Anomalies, ProcessProfile, Spread, process_name};
use capture::{Ended, Process};
use engine::Loaded;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
pub(super) struct ProcessFields<'a> {
    pid: u32,
    ppid: u32,
    image: u32,
    forked: bool,
    name: String,
    executable: &'a str,
    command: &'a [String],
    labels: BTreeMap<&'a str, &'a str>,
    ended: &'static str,
    exit: Option<i32>,
    signal: Option<i32>,
    end_time_ns: Option<u64>,
    recorded: bool,
    allocations: i64,
    allocated_bytes: i64,
    frees: i64,
    temporary: i64,
    peak_bytes: i64,
    peak_blocks: i64,
    peak_time_ns: u64,
    bytes_at_capture_peak: i64,
    leaked_blocks: i64,
    leaked_bytes: i64,
    in_realloc_blocks: i64,
    uncertain_blocks: i64,
    uncertain_bytes: i64,
    exec_blocks: i64,
    exec_bytes: i64,
    #[serde(flatten)]
    errors: Option<ProcessErrors>,
    #[serde(flatten, with = "AnomalyFields")]
    anomalies: Anomalies,
    #[serde(flatten)]
    gaps: GapFields,
    #[serde(flatten)]
    pauses: PauseFields,
}

/// Standard errors of the costs of a process in a sampled capture.
#[derive(Serialize)]
struct ProcessErrors {
    allocations_stderr: i64,
    allocated_bytes_stderr: i64,
    frees_stderr: i64,
    temporary_stderr: i64,
    leaked_blocks_stderr: i64,
    leaked_bytes_stderr: i64,
    uncertain_blocks_stderr: i64,
    uncertain_bytes_stderr: i64,
    exec_blocks_stderr: i64,
    exec_bytes_stderr: i64,
    bytes_at_capture_peak_stderr: i64,
}

impl From<&analysis::Cost<Spread>> for ProcessErrors {
    fn from(cost: &analysis::Cost<Spread>) -> Self {
        Self {
            allocations_stderr: cost.allocated.blocks_error(),
            allocated_bytes_stderr: cost.allocated.bytes_error(),
            frees_stderr: cost.freed.blocks_error(),
            temporary_stderr: cost.temporary.blocks_error(),
            leaked_blocks_stderr: cost.leaked.blocks_error(),
            leaked_bytes_stderr: cost.leaked.bytes_error(),
            uncertain_blocks_stderr: cost.uncertain.blocks_error(),
            uncertain_bytes_stderr: cost.uncertain.bytes_error(),
            exec_blocks_stderr: cost.at_exec.blocks_error(),
            exec_bytes_stderr: cost.at_exec.bytes_error(),
            bytes_at_capture_peak_stderr: cost.peak.bytes_error(),
        }
    }
}

pub(super) fn processes(loaded: &Loaded) -> Vec<ProcessFields<'_>> {
    let rows = loaded.tables.processes.iter().zip(&loaded.profile.processes);
    rows.map(|(row, profile)| process(row, profile, loaded.profile.sampling.is_some())).collect()
}

fn process<'a>(row: &'a Process, profile: &ProcessProfile, is_sampled: bool) -> ProcessFields<'a> {
    let cost = &profile.cost;
    let (exit, signal) = match profile.ended {
        Ended::Exited(code) => (Some(code), None),
        Ended::Signaled(signal) => (None, Some(signal)),
        _ => (None, None),
    };
    ProcessFields {
        pid: row.pid,
        ppid: row.parent_pid,
        image: row.image,
        forked: row.forked,
        name: process_name(row),
        executable: &row.executable,
        command: &row.command,
        labels: by_name(&row.labels),
        ended: ended_word(profile.ended),
        exit,
        signal,
        end_time_ns: row.end.as_ref().map(|end| end.time),
        recorded: profile.seen,
        allocations: cost.allocated.blocks,
        allocated_bytes: cost.allocated.bytes,
        frees: cost.freed.blocks,
        temporary: cost.temporary.blocks,
        peak_bytes: profile.peak.held.bytes,
        peak_blocks: profile.peak.held.blocks,
        peak_time_ns: profile.peak.at.time,
        bytes_at_capture_peak: cost.peak.bytes,
        leaked_blocks: cost.leaked.blocks,
        leaked_bytes: cost.leaked.bytes,
        in_realloc_blocks: profile.in_realloc.blocks,
        uncertain_blocks: cost.uncertain.blocks,
        uncertain_bytes: cost.uncertain.bytes,
        exec_blocks: cost.at_exec.blocks,
        exec_bytes: cost.at_exec.bytes,
        errors: is_sampled.then(|| ProcessErrors::from(&profile.spread)),
        anomalies: profile.anomalies,
        gaps: profile.gaps.into(),
        pauses: profile.pauses.into(),
    }
}
