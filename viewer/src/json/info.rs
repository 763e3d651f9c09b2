//! `info --json`: what a capture is, and the totals of its processes.

use super::cpu::{CpuInfo, FaultInfo, SeriesFields, series};
use super::nameless::{self, NamelessFields};
use super::span::SpanFields;
use super::told::{self, HeapFields, MarkFields, PauseFields};
use super::{SCHEMA, write_document};
use crate::analysis::{
    Anomalies, GapTotals, ProcessProfile, Profile, Spread, process_name, stack_states, state_share,
};
use crate::ended::ended_word;
use crate::loaded::Loaded;
use capture::{Clock, Effort, Ended, Overhead, Process, Sampling, Summary};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    document: &'static str,
    file: &'a str,
    cut: Option<&'a str>,
    #[serde(flatten)]
    span: SpanFields,
    unknown_chunks: u64,
    command: &'a [String],
    tool_version: &'a str,
    started_unix_ns: u64,
    boot_id: &'a str,
    clock: &'static str,
    options: BTreeMap<&'a str, &'a str>,
    sample_interval: Option<u64>,
    aggregated: Option<Aggregated>,
    duration_ns: u64,
    events: u64,
    threads: usize,
    totals: Totals,
    lost: Lost<'a>,
    stacks: Stacks,
    mappings: Pages,
    nameless: Vec<NamelessFields<'a>>,
    heaps: Vec<HeapFields<'a>>,
    marks: Vec<MarkFields<'a>>,
    #[serde(flatten)]
    pauses: PauseFields,
    overhead: Option<Cost>,
    cpu: Option<CpuInfo<'a>>,
    faults: Option<FaultInfo<'a>>,
    counters: Vec<SeriesFields>,
    processes: Vec<ProcessFields<'a>>,
    unrecorded: &'a [String],
    remarks: &'a [String],
}

#[derive(Serialize)]
struct Totals {
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
    uncertain_blocks: i64,
    uncertain_bytes: i64,
    exec_blocks: i64,
    exec_bytes: i64,
    #[serde(flatten)]
    errors: Option<TotalErrors>,
    #[serde(flatten, with = "AnomalyFields")]
    anomalies: Anomalies,
    stray_events: u64,
}

/// The snapshots of an aggregated capture.
#[derive(Serialize)]
struct Aggregated {
    every_ns: u64,
    snapshots: u64,
    first_ns: u64,
    last_ns: u64,
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

#[derive(Serialize)]
#[serde(remote = "Anomalies")]
struct AnomalyFields {
    unmatched_frees: u64,
    frees_from_before: u64,
    inherited_frees: u64,
    lost_allocations: u64,
    lost_frees: u64,
    paused_allocations: u64,
    paused_frees: u64,
    conflicts: u64,
}

#[derive(Serialize)]
struct Lost<'a> {
    events: u64,
    by_reason: Vec<LostFields<'a>>,
    #[serde(flatten)]
    gaps: GapFields,
}

#[derive(Serialize)]
struct LostFields<'a> {
    reason: &'a str,
    events: u64,
    advice: &'a str,
}

#[derive(Serialize)]
struct GapFields {
    gaps: u64,
    gap_allocations: u64,
    gap_frees: u64,
}

#[derive(Serialize)]
struct Stacks {
    distinct: u64,
    complete: u64,
    truncated: u64,
    incomplete: u64,
    complete_allocations: i64,
    addresses: u64,
}

#[derive(Serialize)]
struct Pages {
    mmap_calls: i64,
    mmap_bytes: i64,
    allocator_mmap_calls: i64,
    allocator_mmap_bytes: i64,
    munmap_calls: i64,
    munmap_bytes: i64,
    mremap_calls: i64,
    mremap_growth_bytes: i64,
    brk_calls: i64,
    brk_growth_bytes: i64,
    own_peak_bytes: i64,
    own_peak_time_ns: u64,
}

#[derive(Serialize)]
struct Cost {
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

#[derive(Serialize)]
struct ProcessFields<'a> {
    pid: u32,
    ppid: u32,
    image: u32,
    forked: bool,
    name: String,
    executable: &'a str,
    command: &'a [String],
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

impl From<&crate::analysis::Cost<Spread>> for ProcessErrors {
    fn from(cost: &crate::analysis::Cost<Spread>) -> Self {
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

/// Writes the document.
///
/// # Errors
/// Those of the writer.
pub fn info(out: &mut dyn Write, loaded: &Loaded) -> io::Result<()> {
    let Loaded { tables, profile, source, .. } = loaded;
    let metadata = &tables.metadata;
    let summary = tables.summary.as_ref();
    let document = Document {
        schema: SCHEMA,
        document: "info",
        file: &source.file,
        cut: source.cut.as_deref(),
        span: profile.span.into(),
        unknown_chunks: source.unknown_chunks,
        command: &metadata.command,
        tool_version: &metadata.tool_version,
        started_unix_ns: metadata.started_unix_ns,
        boot_id: &metadata.boot_id,
        clock: match metadata.clock {
            Clock::Tsc => "tsc",
            Clock::MonotonicRaw => "monotonic_raw",
        },
        options: metadata.options.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect(),
        sample_interval: profile.sampling.map(Sampling::interval),
        aggregated: metadata.aggregate().zip(profile.snapshots).map(|(every_ns, snapshots)| Aggregated {
            every_ns,
            snapshots: snapshots.count,
            first_ns: snapshots.first,
            last_ns: snapshots.last,
        }),
        duration_ns: loaded.duration_ns(),
        events: profile.events,
        threads: tables.threads.len(),
        totals: totals(loaded),
        lost: lost(loaded),
        stacks: stacks(loaded),
        mappings: pages(profile),
        nameless: nameless::rows(loaded),
        heaps: told::heaps(loaded),
        marks: told::marks(loaded),
        pauses: profile.pauses().into(),
        overhead: summary.map(Cost::of),
        cpu: CpuInfo::new(loaded),
        faults: FaultInfo::new(loaded),
        counters: series(loaded),
        processes: processes(loaded),
        unrecorded: summary.map_or(&[], |summary| &summary.unrecorded),
        remarks: summary.map_or(&[], |summary| &summary.remarks),
    };
    write_document(out, &document)
}

fn totals(loaded: &Loaded) -> Totals {
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
        peak_time_ns: profile.peak.time,
        leaked_blocks: total.leaked.blocks,
        leaked_bytes: total.leaked.bytes,
        running_blocks: running.blocks,
        running_bytes: running.bytes,
        uncertain_blocks: total.uncertain.blocks,
        uncertain_bytes: total.uncertain.bytes,
        exec_blocks: total.at_exec.blocks,
        exec_bytes: total.at_exec.bytes,
        errors: profile.sampling.map(|_| total_errors(profile)),
        anomalies: profile.anomalies(),
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

fn lost(loaded: &Loaded) -> Lost<'_> {
    let by_reason = loaded.tables.summary.iter().flat_map(|summary| &summary.lost);
    let by_reason =
        by_reason.map(|lost| LostFields { reason: &lost.reason, events: lost.events, advice: &lost.advice });
    Lost { events: loaded.lost_events(), by_reason: by_reason.collect(), gaps: loaded.profile.gaps().into() }
}

fn stacks(loaded: &Loaded) -> Stacks {
    let share = state_share(&loaded.profile, &stack_states(&loaded.tables));
    Stacks {
        distinct: share.distinct,
        complete: share.complete,
        truncated: share.truncated,
        incomplete: share.incomplete,
        complete_allocations: share.complete_allocations,
        addresses: loaded.addresses(),
    }
}

fn pages(profile: &Profile) -> Pages {
    let totals = profile.mappings();
    Pages {
        mmap_calls: totals.mapped.blocks,
        mmap_bytes: totals.mapped.bytes,
        allocator_mmap_calls: totals.in_hook.blocks,
        allocator_mmap_bytes: totals.in_hook.bytes,
        munmap_calls: totals.unmapped.blocks,
        munmap_bytes: totals.unmapped.bytes,
        mremap_calls: totals.remapped.blocks,
        mremap_growth_bytes: totals.remapped.bytes,
        brk_calls: totals.breaks.blocks,
        brk_growth_bytes: totals.breaks.bytes,
        own_peak_bytes: profile.own_pages.bytes,
        own_peak_time_ns: profile.own_pages.time,
    }
}

fn processes(loaded: &Loaded) -> Vec<ProcessFields<'_>> {
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
        peak_time_ns: profile.peak.time,
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

impl From<GapTotals> for GapFields {
    fn from(totals: GapTotals) -> Self {
        Self { gaps: totals.gaps, gap_allocations: totals.allocations, gap_frees: totals.frees }
    }
}

impl Cost {
    fn of(summary: &Summary) -> Self {
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
