//! `info`: what a capture is, how it was made, and the totals of its processes.

mod fields;

use super::errors::asked_for;
use super::footnotes::footnotes;
use super::outside::outside_of_heap;
use crate::ended::ended_text;
use crate::table::{Column, Document, Head, Most, Readers, Row, Table, Title, Value, columns, phrase};
use analysis::{
    Amount, Failure, Metric, ProcessProfile, ProcessTitles, Span, Spread, call_of, stack_states, state_share,
    thread_count,
};
use capture::aggregate::AGGREGATE;
use capture::{Clock, CpuSummary, FAILED_CALLS, Process, ProcessId, Tables};
use engine::suppression::Left;
use engine::{Loaded, MarkRow, PeakKind};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Most processes whose resident memory is listed, those with most.
const RESIDENT: usize = 10;

/// Most processes that a remark names; programs get all.
const MOST_NAMED: usize = 10;

/// Everything except the stacks; people get this many processes.
pub fn info(loaded: &Loaded, limit: usize) -> Document {
    let facts = |title, facts: Facts| Table::facts(title, facts);
    let mut tables = vec![
        facts("Recording", recording(loaded)),
        facts("Labels", labels(loaded)),
        facts("Heap", heap(loaded)),
        heaps(loaded),
        failures(loaded),
        facts("Pages", pages(loaded)),
        facts("Stacks", stacks(loaded)),
        facts("CPU", cpu(loaded)),
        facts("Page faults", faults(loaded)),
        facts("Losses and anomalies", losses(loaded)),
        facts("Cost of the recording", cost(loaded)),
        processes(loaded, limit),
        marks(loaded),
        scans(loaded),
        regions(loaded),
    ];
    tables.extend(footnotes(loaded, Metric::Bytes));
    tables.push(remarks(loaded));
    Document {
        head: Head::File,
        notes: outside_of_heap(loaded).map(|text| phrase!["note: ", text]).into_iter().collect(),
        fields: fields::fields(loaded),
        ..Document::new("info", Title::Words(Value::Empty), tables)
    }
}

/// What the recording said, and the processes that were still running when it ended.
pub(super) fn remarks(loaded: &Loaded) -> Table {
    let summary = loaded.tables.summary.as_ref();
    let unrecorded = summary.map(|summary| summary.unrecorded.clone()).filter(|names| !names.is_empty());
    let ran_on = unrecorded
        .map(|names| phrase!["still running when the recording ended: ", Value::Listed(names, MOST_NAMED)]);
    let said = summary.into_iter().flat_map(|summary| &summary.remarks).map(|remark| Value::name(remark));
    let rows = said.chain(ran_on).map(|remark| Row::new([], remark));
    Table { columns: Vec::new(), ..Table::facts("Remarks", []) }.rows(rows)
}

type Facts = Vec<(Value, Value)>;

fn fact(about: &'static str, fact: impl Into<Value>) -> (Value, Value) {
    (about.into(), fact.into())
}

/// Those of the recording, then those of its processes, each with how many of them have it unless all do.
fn labels(loaded: &Loaded) -> Facts {
    let Tables { metadata, processes, .. } = &loaded.tables;
    let mut of_processes: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (name, value) in processes.iter().flat_map(|process| &process.labels) {
        *of_processes.entry((name, value)).or_default() += 1;
    }
    let of_recording = metadata.labels.iter().map(|(name, value)| (Value::name(name), Value::name(value)));
    let shared = of_processes.into_iter().map(|((name, value), having)| {
        let all = processes.len();
        let how_many = if having == all { String::new() } else { format!("  ({having} of {all} processes)") };
        (Value::name(name), phrase![Value::name(value), how_many])
    });
    of_recording.chain(shared).collect()
}

fn recording(loaded: &Loaded) -> Facts {
    let metadata = &loaded.tables.metadata;
    let command = Some(metadata.command.join(" ")).filter(|command| !command.is_empty());
    let version = match metadata.tool_version.as_str() {
        "" => "unknown version".into(),
        version => phrase!["version ", Value::name(version)],
    };
    let clock = match metadata.clock {
        Clock::Tsc => "time stamp counter",
        Clock::MonotonicRaw => "CLOCK_MONOTONIC_RAW",
    };
    let mut facts: Facts = command.map(|command| fact("command", command)).into_iter().collect();
    facts.extend([
        fact("recorded by", version),
        fact("duration", Value::Duration(loaded.duration_ns())),
        fact("clock", clock),
        fact("events", Value::count(loaded.profile.events)),
        fact("threads", phrase![Value::count(thread_count(&loaded.tables)), " that allocated or freed"]),
    ]);
    if let Some(sampling) = loaded.profile.sampling {
        facts.push(fact("sampled", phrase!["one per ", Value::bytes(sampling.interval())]));
    }
    let pauses = loaded.profile.pauses();
    if pauses.pauses > 0 {
        let time = Value::Duration(pauses.time);
        facts.push(fact("pauses", phrase![Value::count(pauses.pauses), ", for ", time]));
    }
    if let Some((every, snapshots)) = metadata.aggregate().zip(loaded.profile.snapshots) {
        let [first, last, every] = [snapshots.first, snapshots.last, every].map(Value::Duration);
        let count = Value::count(snapshots.count);
        facts.extend([
            fact("aggregated", "totals per stack at snapshots, no individual blocks"),
            fact("snapshots", phrase![count, ", from ", first, " to ", last, ", initially every ", every]),
        ]);
    }
    let options = metadata.options.iter().filter(|(name, _)| name != AGGREGATE && name != FAILED_CALLS);
    facts.extend(options.map(|(name, value)| (Value::name(name), Value::name(value))));
    facts
}

/// `1,234, 12.3 MiB`.
fn amount(amount: Amount, spread: Spread) -> Value {
    phrase![Value::blocks_of(amount, spread), ", ", Value::size_of(amount, spread)]
}

fn heap(loaded: &Loaded) -> Facts {
    let profile = &loaded.profile;
    let (total, spread, peak) = (&profile.total, &profile.total_spread, profile.peak);
    let held = amount(peak.held, spread.peak);
    let mut facts = vec![
        fact("allocations", amount(total.allocated, spread.allocated)),
        fact("frees", amount(total.freed, spread.freed)),
        fact("temporary", amount(total.temporary, spread.temporary)),
        fact("peak", phrase![held, " after ", Value::Duration(peak.at.time)]),
    ];
    // Leaked is something only at the end.
    if profile.span == Span::Whole {
        let Left { leaked, held, suppressed } = Left::of(loaded);
        let parts = [("leaked", leaked), ("still held", held), ("suppressed", suppressed)];
        facts.extend(parts.map(|(name, (left, spread))| fact(name, amount(left, spread))));
    } else {
        facts.push(fact("still allocated", amount(total.leaked, spread.leaked)));
    }
    facts.push(fact("uncertain", amount(total.uncertain, spread.uncertain)));
    facts.push(fact("live at exec", amount(total.at_exec, spread.at_exec)));
    facts
}

fn pages(loaded: &Loaded) -> Facts {
    let totals = loaded.profile.mappings();
    let own = loaded.profile.own_pages;
    let calls = [
        ("mmap", totals.mapped),
        ("mmap by the allocator", totals.in_hook),
        ("munmap", totals.unmapped),
        ("mremap", totals.remapped),
        ("brk", totals.breaks),
    ];
    let most = phrase![Value::bytes(own.bytes), " after ", Value::Duration(own.time)];
    let calls = calls.into_iter().map(|(name, sum)| fact(name, amount(sum, Spread::ZERO)));
    calls.chain([fact("peak outside the heap", most)]).collect()
}

fn stacks(loaded: &Loaded) -> Facts {
    let share = state_share(&loaded.profile, &stack_states(&loaded.tables));
    let complete = Value::Share(share.complete_allocations, share.allocations);
    vec![
        fact("distinct", Value::count(share.distinct)),
        fact("complete", phrase![Value::count(share.complete), ", ", complete, " of allocations"]),
        fact("truncated", Value::count(share.truncated)),
        fact("incomplete", Value::count(share.incomplete)),
        fact("addresses", Value::count(loaded.addresses())),
    ]
}

/// How the CPU was sampled; empty if it was not and that was not requested.
fn cpu(loaded: &Loaded) -> Facts {
    let Some(cpu) = loaded.tables.summary.as_ref().map(|summary| &summary.cpu) else { return Vec::new() };
    let mut facts = Vec::new();
    if !cpu.event.is_empty() {
        let kernel = if cpu.has_kernel { ", with the kernel" } else { ", without the kernel" };
        let frequency = Value::Id(cpu.frequency.into());
        facts.extend([
            fact("samples", Value::count(cpu.samples)),
            fact("sampled", phrase![sampled(loaded, cpu), kernel]),
            fact("event", phrase![Value::name(&cpu.event), ", ", frequency, " Hz"]),
            fact("samples lost", Value::count(cpu.lost)),
            fact("throttled", Value::count(cpu.throttled)),
            fact("late records", Value::count(cpu.late)),
            fact("stacks truncated", Value::count(cpu.truncated)),
            fact("stacks incomplete", Value::count(cpu.incomplete)),
            fact("clock error", Value::Duration(cpu.clock_error_ns)),
            fact("CPU in the sampler", Value::Duration(cpu.cost_ns)),
        ]);
    }
    facts.extend(note(&cpu.refused));
    let rss =
        loaded.tables.processes.iter().enumerate().filter_map(|(index, process)| {
            Some((loaded.peak_rss(ProcessId::from_index(index))?, process.pid))
        });
    let mut rss: Vec<_> = rss.collect();
    rss.sort_by_key(|(peak, _)| Reverse(peak.bytes));
    let others = rss.len().saturating_sub(RESIDENT);
    facts.extend(rss.iter().take(RESIDENT).map(|(peak, pid)| {
        let (when, how) = match peak.kind {
            PeakKind::At => (" after ", ""),
            PeakKind::Before => (" before ", ""),
            PeakKind::Reading => (" after ", ", the largest reading"),
        };
        let size = phrase![Value::bytes(peak.bytes), when, Value::Duration(peak.time), how];
        (format!("peak RSS of {pid}").into(), size)
    }));
    if others > 0 {
        facts.push(fact("smaller peak RSS", Value::counted(others as u64, "process")));
    }
    facts
}

/// Why something was not recorded, or less of it.
fn note(refused: &str) -> Option<(Value, Value)> {
    (!refused.is_empty()).then(|| fact("note", Value::name(refused)))
}

/// Whose work was sampled.
fn sampled(loaded: &Loaded, cpu: &CpuSummary) -> &'static str {
    let metadata = &loaded.tables.metadata;
    let follows = metadata.options.iter().all(|(name, value)| name != "follow" || value == "true");
    match (cpu.is_system_wide, metadata.command.is_empty(), follows) {
        (true, ..) => "all processes",
        (_, true, true) => "the recorded processes and what they started",
        (_, true, false) => "the recorded processes",
        (_, false, true) => "the target and its descendants",
        (_, false, false) => "the target",
    }
}

/// How page faults were recorded; empty if not requested.
fn faults(loaded: &Loaded) -> Facts {
    let Some(faults) = loaded.tables.summary.as_ref().map(|summary| &summary.faults) else {
        return Vec::new();
    };
    let mut facts = Vec::new();
    if faults.is_recorded {
        let pages = faults.faults.saturating_mul(faults.page_bytes);
        facts.extend([
            fact("page faults", phrase![Value::count(faults.faults), " (see: resident)"]),
            fact("pages touched", Value::bytes(pages)),
            fact("faults lost", Value::count(faults.lost)),
            fact("faults without a stack", Value::count(faults.without_stack)),
            fact("huge pages", Value::name(&faults.huge_pages)),
        ]);
    }
    facts.extend(note(&faults.refused));
    facts
}

/// A number, and what to do about it unless it is 0.
fn advised(number: u64, is_advised: bool, advice: &'static str) -> Value {
    phrase![Value::count(number), if is_advised { advice } else { "" }]
}

fn losses(loaded: &Loaded) -> Facts {
    let (anomalies, gaps) = (loaded.profile.anomalies(), loaded.profile.gaps());
    let unknown = advised(anomalies.unmatched_frees, loaded.invalid_frees() > 0, " (see: errors)");
    let doubt = " (cannot tell what is leaked, and which frees are invalid)";
    let failed = match loaded.profile.failed_calls() {
        0 if !loaded.tables.metadata.tells_failed_calls() => "not recorded".into(),
        calls => advised(calls, calls > 0, " (see: errors)"),
    };
    let mut facts = vec![
        fact("events lost", Value::count(loaded.lost_events())),
        fact("gaps", Value::count(gaps.gaps)),
        fact("allocations in gaps", Value::count(gaps.allocations)),
        fact("frees in gaps", Value::count(gaps.frees)),
        fact("frees of inherited blocks", Value::count(anomalies.inherited_frees)),
        fact("frees of unknown blocks", unknown),
        fact("frees of earlier blocks", Value::count(anomalies.frees_from_before)),
        fact("frees after a gap", Value::count(anomalies.lost_allocations)),
        fact("blocks ended by a gap", Value::count(anomalies.lost_frees)),
        fact("frees after a pause", Value::count(anomalies.paused_allocations)),
        fact("blocks ended by a pause", Value::count(anomalies.paused_frees)),
        fact("failed allocations", failed),
        fact("frees without a record", advised(anomalies.conflicts, anomalies.conflicts > 0, doubt)),
        fact("stray events", Value::count(loaded.profile.stray_events)),
    ];
    facts.extend(loaded.lost().iter().map(|lost| {
        let events = Value::count(lost.events);
        let said = match lost.advice.as_str() {
            "" => events,
            advice => phrase![events, " (", Value::name(advice), ")"],
        };
        (format!("lost: {}", lost.reason).into(), said)
    }));
    facts
}

/// What hooks took: they time one event in 256.
fn in_hooks(cpu_ns: u64) -> Value {
    if cpu_ns == 0 { "too few events to time".into() } else { Value::Duration(cpu_ns) }
}

fn cost(loaded: &Loaded) -> Facts {
    let Some(summary) = &loaded.tables.summary else { return Vec::new() };
    let cost = &summary.overhead;
    vec![
        fact("CPU in hooks", in_hooks(cost.agent_cpu_ns)),
        fact("CPU in the collector", Value::Duration(cost.collector_cpu_ns)),
        fact("waiting for ring space", Value::Duration(cost.wait_ns)),
        fact("stalled on writing", Value::Duration(summary.effort.held_ns)),
        fact("collector wake-ups", Value::count(summary.effort.wake_ups)),
        fact("collector peak RSS", Value::bytes(cost.collector_peak_rss)),
        fact("shared memory", Value::bytes(cost.shared_memory)),
        fact("allocations by the agent", Value::count(cost.agent_allocations)),
    ]
}

/// A table for people, since programs have its numbers as fields.
fn table(
    title: &'static str,
    columns: impl Into<Vec<Column>>,
    heading: &'static str,
    noun: &'static str,
    rows: impl IntoIterator<Item = Row>,
) -> Table {
    let table = Table::new("", columns, heading).titled(title).only(Readers::People);
    Table { noun, ..table }.rows(rows)
}

/// The programs' own heaps (pools).
fn heaps(loaded: &Loaded) -> Table {
    let columns = ["allocations", "frees", "peak", "leaked", "uncertain"].map(Column::shown);
    let rows = loaded.profile.pools.iter().map(|pool| {
        let cells = [
            Value::count(pool.allocated.blocks),
            Value::count(pool.freed.blocks),
            Value::bytes(pool.peak.held.bytes),
            Value::bytes(pool.leaked.bytes),
            Value::bytes(pool.uncertain.bytes),
        ];
        Row::new(cells, Value::name(loaded.tables.string(pool.name)))
    });
    Table { most: Most::All, ..table("Pools", columns, "name", "", rows) }
}

fn failures(loaded: &Loaded) -> Table {
    let (columns, cells) = columns![|row: &Failure|
        Column::shown("calls") => Value::count(row.calls),
        Column::shown("call").left().width(24) => call_of(&loaded.tables, row.node),
        Column::shown("largest") => row.sizes.map_or_else(|| "?".into(), |(_, most)| asked_for(row, most)),
        Column::shown("last after") => Value::Duration(row.last.time),
        Column::shown("held then") => Value::bytes(row.held_last.bytes),
    ];
    let rows = loaded.failures().into_iter().map(|row| Row::new(cells(row), Value::Stack(row.node)));
    table("Failed allocations", columns, "stack", "more stack", rows)
}

fn regions(loaded: &Loaded) -> Table {
    let columns = ["times", "shortest", "mean", "longest", "not ended"].map(Column::shown);
    let rows = loaded.marks_by_name().into_iter().filter(|row| !row.regions.is_empty()).map(|row| {
        let [min, mean, max] = row.lengths().map_or([const { Value::Empty }; 3], |lengths| {
            [lengths.min, lengths.mean, lengths.max].map(Value::Duration)
        });
        let unfinished = Some(row.unfinished()).filter(|&open| open > 0);
        let unfinished = unfinished.map_or(Value::Empty, Value::count);
        let cells = [Value::count(row.regions.len() as u64), min, mean, max, unfinished];
        Row::new(cells, Value::name(loaded.tables.string(row.name)))
    });
    table("Regions", columns, "region", "more name", rows)
}

fn marks(loaded: &Loaded) -> Table {
    let columns = [Column::shown("after"), Column::shown("pid"), Column::shown("kind").left().width(7)];
    let rows = loaded.marks().map(|MarkRow { name, mark, process, .. }| {
        let pid = process.map_or("?".into(), |process| Value::Id(process.pid.into()));
        Row::new([Value::Duration(mark.time), pid, mark.kind.name().into()], Value::name(name))
    });
    table("Marks", columns, "name", "more mark", rows)
}

/// The scans of processes.
pub fn scans(loaded: &Loaded) -> Table {
    let columns = ["scan", "after", "searched", "stopped for"].map(Column::shown);
    let rows = (1..).zip(&loaded.tables.scans).map(|(number, scan): (u64, _)| {
        let cells = [
            Value::Id(number),
            Value::Duration(scan.time),
            Value::bytes(scan.searched),
            Value::Duration(scan.still_ns),
        ];
        Row::new(cells, Value::Process(scan.process))
    });
    table("Scans", columns, "process", "more scan", rows)
}

/// In order of their beginning; if there are too many, those that held most.
fn processes(loaded: &Loaded, limit: usize) -> Table {
    let titles = ProcessTitles::new(&loaded.tables.processes);
    let (columns, cells) = columns![|(row, profile): (&Process, &ProcessProfile)|
        Column::shown("pid") => Value::Id(row.pid.into()),
        Column::shown("allocations") => Value::count(profile.cost.allocated.blocks),
        Column::shown("peak") => Value::bytes(profile.peak.held.bytes),
        Column::shown("not freed") => Value::bytes(profile.cost.leaked.bytes),
        Column::shown("end").left().width(18) => ended_text(profile.ended),
    ];
    let all: Vec<_> = loaded.tables.processes.iter().zip(&loaded.profile.processes).collect();
    let mut largest: Vec<usize> = (0..all.len()).collect();
    largest.sort_by_key(|&place| Reverse(all[place].1.peak.held.bytes));
    largest.truncate(limit);
    largest.sort_unstable();
    let hidden = all.len() - largest.len();
    let rows =
        largest.iter().map(|&place| Row::new(cells(all[place]), Value::name(&titles.of(all[place].0))));
    let rest = (hidden > 0).then(|| Row::rest(hidden, "smaller process", "--limit"));
    Table { most: Most::All, ..table("Processes", columns, "name", "", rows.chain(rest)) }
}
