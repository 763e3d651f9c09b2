//! `info --json`: what a capture is, and the totals of its processes.

mod cost;
mod lost;
mod process;
mod totals;

use super::Fields;
use super::cpu::{CpuInfo, FaultInfo, SeriesFields, series};
use super::head::Head;
use super::nameless::{self, NamelessFields};
use super::reported::{self, HeapFields, MarkFields, MarkNameFields, PauseFields};
use super::span::SpanFields;
use super::write_document;
use crate::views::scan_fields;
use analysis::{Profile, stack_states, state_share, thread_count};
use capture::{Clock, Sampling};
use cost::Cost;
use engine::Loaded;
use lost::{Lost, lost};
use process::{ProcessFields, processes};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use totals::{Totals, totals};

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    #[serde(flatten)]
    span: SpanFields,
    unknown_chunks: u64,
    command: &'a [String],
    tool_version: &'a str,
    started_unix_ns: u64,
    boot_id: &'a str,
    clock: &'static str,
    options: BTreeMap<&'a str, &'a str>,
    labels: BTreeMap<&'a str, &'a str>,
    sample_interval: Option<u64>,
    aggregated: Option<Aggregated>,
    duration_ns: u64,
    events: u64,
    threads: u64,
    totals: Totals,
    lost: Lost<'a>,
    stacks: Stacks,
    mappings: Pages,
    nameless: Vec<NamelessFields<'a>>,
    heaps: Vec<HeapFields<'a>>,
    marks: Vec<MarkFields<'a>>,
    mark_names: Vec<MarkNameFields<'a>>,
    scans: Vec<Fields<'a>>,
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

/// The snapshots of an aggregated capture.
#[derive(Serialize)]
struct Aggregated {
    every_ns: u64,
    snapshots: u64,
    first_ns: u64,
    last_ns: u64,
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

fn by_name(pairs: &[(String, String)]) -> BTreeMap<&str, &str> {
    pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
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
        head: Head::new(loaded, "info"),
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
        options: by_name(&metadata.options),
        labels: by_name(&metadata.labels),
        sample_interval: profile.sampling.map(Sampling::interval),
        aggregated: metadata.aggregate().zip(profile.snapshots).map(|(every_ns, snapshots)| Aggregated {
            every_ns,
            snapshots: snapshots.count,
            first_ns: snapshots.first,
            last_ns: snapshots.last,
        }),
        duration_ns: loaded.duration_ns(),
        events: profile.events,
        threads: thread_count(tables),
        totals: totals(loaded),
        lost: lost(loaded),
        stacks: stacks(loaded),
        mappings: pages(profile),
        nameless: nameless::rows(loaded),
        heaps: reported::heaps(loaded),
        marks: reported::marks(loaded),
        scans: (1..)
            .zip(&loaded.tables.scans)
            .map(|(number, scan)| Fields { loaded, fields: scan_fields(loaded, number, scan) })
            .collect(),
        mark_names: reported::mark_names(loaded),
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
