//! What programs reported about themselves: pools, marks, pauses.

use analysis::{MarkName, PauseTotals, PoolProfile};
use engine::{Loaded, MarkRow};
use serde::Serialize;

/// The programs' own heaps (pools).
pub(super) fn heaps(loaded: &Loaded) -> Vec<HeapFields<'_>> {
    loaded.profile.pools.iter().map(|pool| heap(loaded, pool)).collect()
}

/// All marks.
pub(super) fn marks(loaded: &Loaded) -> Vec<MarkFields<'_>> {
    loaded.marks().map(mark).collect()
}

/// Marks by name, with how long their regions took.
pub(super) fn mark_names(loaded: &Loaded) -> Vec<MarkNameFields<'_>> {
    let row = |row: MarkName| {
        let lengths = row.lengths();
        MarkNameFields {
            name: loaded.tables.string(row.name),
            instants: row.instants,
            regions: row.regions.len() as u64,
            unfinished: row.unfinished(),
            stray_ends: row.stray_ends,
            min_ns: lengths.map(|lengths| lengths.min),
            mean_ns: lengths.map(|lengths| lengths.mean),
            max_ns: lengths.map(|lengths| lengths.max),
        }
    };
    loaded.marks_by_name().into_iter().map(row).collect()
}

/// A program's own heap (pool).
#[derive(Serialize)]
pub(super) struct HeapFields<'a> {
    name: &'a str,
    allocations: i64,
    allocated_bytes: i64,
    frees: i64,
    freed_bytes: i64,
    peak_blocks: i64,
    peak_bytes: i64,
    peak_time_ns: u64,
    leaked_blocks: i64,
    leaked_bytes: i64,
    uncertain_blocks: i64,
    uncertain_bytes: i64,
}

/// A mark that a program set.
#[derive(Serialize)]
pub(super) struct MarkFields<'a> {
    name: &'a str,
    kind: &'static str,
    time_ns: u64,
    pid: Option<u32>,
    tid: Option<u32>,
}

/// The marks of one name.
#[derive(Serialize)]
pub(super) struct MarkNameFields<'a> {
    name: &'a str,
    instants: u64,
    regions: u64,
    unfinished: u64,
    stray_ends: u64,
    min_ns: Option<u64>,
    mean_ns: Option<u64>,
    max_ns: Option<u64>,
}

/// Intervals in which the recording was paused.
#[derive(Serialize)]
pub(super) struct PauseFields {
    pauses: u64,
    paused_ns: u64,
}

impl From<PauseTotals> for PauseFields {
    fn from(PauseTotals { pauses, time }: PauseTotals) -> Self {
        Self { pauses, paused_ns: time }
    }
}

fn heap<'a>(loaded: &'a Loaded, pool: &PoolProfile) -> HeapFields<'a> {
    HeapFields {
        name: loaded.tables.string(pool.name),
        allocations: pool.allocated.blocks,
        allocated_bytes: pool.allocated.bytes,
        frees: pool.freed.blocks,
        freed_bytes: pool.freed.bytes,
        peak_blocks: pool.peak.held.blocks,
        peak_bytes: pool.peak.held.bytes,
        peak_time_ns: pool.peak.at.time,
        leaked_blocks: pool.leaked.blocks,
        leaked_bytes: pool.leaked.bytes,
        uncertain_blocks: pool.uncertain.blocks,
        uncertain_bytes: pool.uncertain.bytes,
    }
}

fn mark(row: MarkRow<'_>) -> MarkFields<'_> {
    MarkFields {
        name: row.name,
        kind: row.mark.kind.name(),
        time_ns: row.mark.time,
        pid: row.process.map(|process| process.pid),
        tid: row.thread.map(|thread| thread.tid),
    }
}
