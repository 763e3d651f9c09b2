//! `info`: what a capture is and how it was made.

use super::beside;
use super::early_ends::early_ends_footnote;
use super::escape::{columns, escape};
use super::estimate;
use super::headline::{remark_texts, span, warnings};
use super::nameless::footnote;
use super::stack_line::{not_shown, stack_line};
use super::style::{Role, Style};
use super::words::words;
use crate::ended::ended_text;
use crate::views::asked_for;
use analysis::format::{bytes, count, counted, duration, percent};
use analysis::{
    Amount, Lengths, Metric, ProcessTitles, Span, call_of, stack_states, state_share, thread_count,
};
use capture::aggregate::AGGREGATE;
use capture::{Clock, CpuSummary, FAILED_CALLS, ProcessId, Tables};
use engine::suppression::Left;
use engine::{Loaded, MarkRow, PeakKind};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Rows of each table without an explicit limit. JSON has all of them.
const ROWS: usize = 50;

/// Writes everything except the stacks; at most `limit` rows of each table.
///
/// # Errors
/// Those of the writer.
pub fn info(out: &mut dyn Write, loaded: &Loaded, limit: Option<usize>, style: &Style) -> io::Result<()> {
    let limit = limit.unwrap_or(ROWS);
    let file = escape(&loaded.source.file);
    let part = span(loaded.profile.span);
    writeln!(out, "{}", style.paint(Role::Heading, format!("{file}{part}")))?;
    warnings(out, loaded, style)?;
    beside::pages(out, loaded, style)?;
    section(out, "Recording", recording(loaded), style)?;
    section(out, "Labels", labels(loaded), style)?;
    section(out, "Heap", heap(loaded), style)?;
    heaps(out, loaded, style)?;
    failures(out, loaded, limit, style)?;
    section(out, "Pages", pages(loaded), style)?;
    section(out, "Stacks", stacks(loaded), style)?;
    section(out, "CPU", cpu(loaded), style)?;
    section(out, "Page faults", faults(loaded), style)?;
    section(out, "Losses and anomalies", losses(loaded), style)?;
    section(out, "Cost of the recording", cost(loaded), style)?;
    processes(out, loaded, limit, style)?;
    marks(out, loaded, limit, style)?;
    scans(out, loaded, limit, style)?;
    regions(out, loaded, limit, style)?;
    footnote(out, loaded, Metric::Bytes, style)?;
    early_ends_footnote(out, loaded, Metric::Bytes, style)?;
    for remark in remark_texts(loaded) {
        writeln!(out, "remark: {}", escape(&remark))?;
    }
    Ok(())
}

type Facts = Vec<(String, String)>;

fn fact(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}

fn section(out: &mut dyn Write, title: &str, facts: Facts, style: &Style) -> io::Result<()> {
    if facts.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", style.paint(Role::Heading, title))?;
    for (name, value) in facts {
        let name = escape(&name);
        let blank = " ".repeat(26_usize.saturating_sub(columns(&name)));
        writeln!(out, "  {name}{blank}  {value}")?;
    }
    Ok(())
}

/// Writes a table under a title, or nothing if it has no rows. Numbers are right-aligned in columns of the given
/// widths; the last cell of a row has no width.
fn table<const COLUMNS: usize>(
    out: &mut dyn Write,
    title: &str,
    columns: [(&str, isize); COLUMNS],
    rows: impl Iterator<Item = [String; COLUMNS]>,
    style: &Style,
) -> io::Result<()> {
    let line = |cells: [&str; COLUMNS]| {
        let cells = cells.iter().zip(columns).map(|(cell, (_, width))| match width {
            0 => (*cell).to_owned(),
            width if width < 0 => format!("{cell:<width$}", width = width.unsigned_abs()),
            width => format!("{cell:>width$}", width = width.unsigned_abs()),
        });
        format!("  {}", cells.collect::<Vec<_>>().join("  "))
    };
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return Ok(());
    }
    writeln!(out, "\n{}", style.paint(Role::Heading, title))?;
    writeln!(out, "{}", style.paint(Role::Detail, line(columns.map(|(name, _)| name))))?;
    rows.try_for_each(|row| writeln!(out, "{}", line(row.each_ref().map(String::as_str))))
}

/// Those of the recording, then those of its processes, each with how many of them have it unless all do.
fn labels(loaded: &Loaded) -> Facts {
    let Tables { metadata, processes, .. } = &loaded.tables;
    let mut of_processes: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (name, value) in processes.iter().flat_map(|process| &process.labels) {
        *of_processes.entry((name, value)).or_default() += 1;
    }
    let of_recording = metadata.labels.iter().map(|(name, value)| fact(name, escape(value)));
    let shared = of_processes.into_iter().map(|((name, value), having)| match having == processes.len() {
        true => fact(name, escape(value)),
        false => fact(name, format!("{}  ({} of {} processes)", escape(value), having, processes.len())),
    });
    of_recording.chain(shared).collect()
}

fn recording(loaded: &Loaded) -> Facts {
    let metadata = &loaded.tables.metadata;
    let clock = match metadata.clock {
        Clock::Tsc => "time stamp counter",
        Clock::MonotonicRaw => "CLOCK_MONOTONIC_RAW",
    };
    let mut facts = Vec::new();
    if !metadata.command.is_empty() {
        facts.push(fact("command", escape(&metadata.command.join(" "))));
    }
    let version = match metadata.tool_version.as_str() {
        "" => "unknown version".to_owned(),
        version => format!("version {}", escape(version)),
    };
    facts.push(fact("recorded by", version));
    facts.push(fact("duration", duration(loaded.duration_ns())));
    facts.push(fact("clock", clock));
    facts.push(fact("events", count(loaded.profile.events)));
    facts.push(fact("threads", count(thread_count(&loaded.tables))));
    if let Some(sampling) = loaded.profile.sampling {
        let interval = i64::try_from(sampling.interval()).unwrap_or(i64::MAX);
        facts.push(fact("sampled", format!("one per {}", bytes(interval))));
    }
    let pauses = loaded.profile.pauses();
    if pauses.pauses > 0 {
        facts.push(fact("pauses", format!("{}, for {}", count(pauses.pauses), duration(pauses.time))));
    }
    if let Some((every, snapshots)) = metadata.aggregate().zip(loaded.profile.snapshots) {
        let (first, last) = (duration(snapshots.first), duration(snapshots.last));
        facts.push(fact("aggregated", "totals per stack at snapshots, no individual blocks"));
        let shown = format!(
            "{}, from {first} to {last}, initially every {}",
            count(snapshots.count),
            duration(every)
        );
        facts.push(fact("snapshots", shown));
    }
    let options = metadata.options.iter().filter(|(name, _)| name != AGGREGATE && name != FAILED_CALLS);
    facts.extend(options.map(|(name, value)| fact(name, escape(value))));
    facts
}

fn heap(loaded: &Loaded) -> Facts {
    let profile = &loaded.profile;
    let (total, spread) = (&profile.total, &profile.total_spread);
    let peak = profile.peak;
    let amount =
        |amount, spread| format!("{}, {}", estimate::blocks(amount, spread), estimate::bytes(amount, spread));
    let mut facts = vec![
        fact("allocations", amount(total.allocated, spread.allocated)),
        fact("frees", amount(total.freed, spread.freed)),
        fact("temporary", amount(total.temporary, spread.temporary)),
        fact("peak", format!("{} after {}", amount(peak.held, spread.peak), duration(peak.at.time))),
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
    vec![
        fact("mmap", amount(totals.mapped)),
        fact("mmap by the allocator", amount(totals.in_hook)),
        fact("munmap", amount(totals.unmapped)),
        fact("mremap", amount(totals.remapped)),
        fact("brk", amount(totals.breaks)),
        fact("peak outside the heap", format!("{} after {}", bytes(own.bytes), duration(own.time))),
    ]
}

fn stacks(loaded: &Loaded) -> Facts {
    let share = state_share(&loaded.profile, &stack_states(&loaded.tables));
    let complete = percent(share.complete_allocations, share.allocations);
    vec![
        fact("distinct", count(share.distinct)),
        fact("complete", format!("{}, {complete} of allocations", count(share.complete))),
        fact("truncated", count(share.truncated)),
        fact("incomplete", count(share.incomplete)),
        fact("addresses", count(loaded.addresses())),
    ]
}

/// Most processes whose resident memory is listed, those with most.
const RESIDENT: usize = 10;

/// How the CPU was sampled; empty if it was not and that was not requested.
fn cpu(loaded: &Loaded) -> Facts {
    let Some(cpu) = loaded.tables.summary.as_ref().map(|summary| &summary.cpu) else { return Vec::new() };
    let mut facts = Vec::new();
    if !cpu.event.is_empty() {
        let whose = sampled(loaded, cpu);
        let kernel = if cpu.has_kernel { "with" } else { "without" };
        facts.extend([
            fact("samples", count(cpu.samples)),
            fact("sampled", format!("{whose}, {kernel} the kernel")),
            fact("event", format!("{}, {} Hz", escape(&cpu.event), cpu.frequency)),
            fact("samples lost", count(cpu.lost)),
            fact("throttled", count(cpu.throttled)),
            fact("late records", count(cpu.late)),
            fact("stacks truncated", count(cpu.truncated)),
            fact("stacks incomplete", count(cpu.incomplete)),
            fact("clock error", duration(cpu.clock_error_ns)),
            fact("CPU in the sampler", duration(cpu.cost_ns)),
        ]);
    }
    if !cpu.refused.is_empty() {
        facts.push(fact("note", escape(&cpu.refused)));
    }
    let rss =
        loaded.tables.processes.iter().enumerate().filter_map(|(index, process)| {
            Some((loaded.peak_rss(ProcessId::from_index(index))?, process.pid))
        });
    let mut rss: Vec<_> = rss.collect();
    rss.sort_by_key(|(peak, _)| Reverse(peak.bytes));
    let others = rss.len().saturating_sub(RESIDENT);
    facts.extend(rss.iter().take(RESIDENT).map(|(peak, pid)| {
        let size = bytes(i64::try_from(peak.bytes).unwrap_or(i64::MAX));
        let (when, how) = match peak.kind {
            PeakKind::At => ("after", ""),
            PeakKind::Before => ("before", ""),
            PeakKind::Reading => ("after", ", the largest reading"),
        };
        fact(&format!("peak RSS of {pid}"), format!("{size} {when} {}{how}", duration(peak.time)))
    }));
    if others > 0 {
        facts.push(fact("smaller peak RSS", counted(others as u64, "process")));
    }
    facts
}

/// Whose work was sampled.
fn sampled(loaded: &Loaded, cpu: &CpuSummary) -> &'static str {
    let metadata = &loaded.tables.metadata;
    let follows = metadata.options.iter().all(|(name, value)| name != "follow" || value == "true");
    if cpu.is_system_wide {
        "all processes"
    } else if metadata.command.is_empty() && follows {
        "the recorded processes and what they started"
    } else if metadata.command.is_empty() {
        "the recorded processes"
    } else if follows {
        "the target and its descendants"
    } else {
        "the target"
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
            fact("page faults", format!("{} (see: resident)", count(faults.faults))),
            fact("pages touched", bytes(i64::try_from(pages).unwrap_or(i64::MAX))),
            fact("faults lost", count(faults.lost)),
            fact("faults without a stack", count(faults.without_stack)),
            fact("huge pages", escape(&faults.huge_pages)),
        ]);
    }
    if !faults.refused.is_empty() {
        facts.push(fact("note", escape(&faults.refused)));
    }
    facts
}

fn unknown_blocks(loaded: &Loaded, frees: u64) -> String {
    let advice = if loaded.invalid_frees() > 0 { " (see: invalid-frees)" } else { "" };
    count(frees) + advice
}

fn failures(out: &mut dyn Write, loaded: &Loaded, limit: usize, style: &Style) -> io::Result<()> {
    let rows = loaded.failures();
    let (columns, hidden) = (
        [("calls", 8), ("call", -24), ("largest", 10), ("last after", 10), ("held then", 10), ("stack", 0)],
        rows.len().saturating_sub(limit),
    );
    let shown = rows.into_iter().take(limit).map(|row| {
        [
            count(row.calls),
            call_of(&loaded.tables, row.node).to_owned(),
            row.sizes
                .map_or_else(|| "?".to_owned(), |(_, most)| words(loaded, &asked_for(row, most), usize::MAX)),
            duration(row.last.time),
            bytes(row.held_last.bytes),
            stack_line(loaded, row.node, style, 64),
        ]
    });
    table(out, "Failed allocations", columns, shown, style)?;
    more(out, hidden, "more stack")
}

fn unrecorded_frees(conflicts: u64) -> String {
    let advice =
        if conflicts > 0 { " (cannot tell what is leaked, and which frees are invalid)" } else { "" };
    count(conflicts) + advice
}

fn failed(loaded: &Loaded) -> String {
    match loaded.profile.failed_calls() {
        0 if !loaded.tables.metadata.tells_failed_calls() => "not recorded".to_owned(),
        0 => count(0),
        calls => format!("{} (see: failed)", count(calls)),
    }
}

fn losses(loaded: &Loaded) -> Facts {
    let anomalies = loaded.profile.anomalies();
    let gaps = loaded.profile.gaps();
    let mut facts = vec![
        fact("events lost", count(loaded.lost_events())),
        fact("gaps", count(gaps.gaps)),
        fact("allocations in gaps", count(gaps.allocations)),
        fact("frees in gaps", count(gaps.frees)),
        fact("frees of inherited blocks", count(anomalies.inherited_frees)),
        fact("frees of unknown blocks", unknown_blocks(loaded, anomalies.unmatched_frees)),
        fact("frees of earlier blocks", count(anomalies.frees_from_before)),
        fact("frees after a gap", count(anomalies.lost_allocations)),
        fact("blocks ended by a gap", count(anomalies.lost_frees)),
        fact("frees after a pause", count(anomalies.paused_allocations)),
        fact("blocks ended by a pause", count(anomalies.paused_frees)),
        fact("failed allocations", failed(loaded)),
        fact("frees without a record", unrecorded_frees(anomalies.conflicts)),
        fact("stray events", count(loaded.profile.stray_events)),
    ];
    for lost in loaded.tables.summary.iter().flat_map(|summary| &summary.lost) {
        let text = match lost.advice.as_str() {
            "" => count(lost.events),
            advice => format!("{} ({})", count(lost.events), escape(advice)),
        };
        facts.push(fact(&format!("lost: {}", lost.reason), text));
    }
    facts
}

fn cost(loaded: &Loaded) -> Facts {
    let Some(summary) = &loaded.tables.summary else { return Vec::new() };
    let cost = &summary.overhead;
    let size = |value: u64| bytes(i64::try_from(value).unwrap_or(i64::MAX));
    vec![
        fact("CPU in hooks", duration(cost.agent_cpu_ns)),
        fact("CPU in the collector", duration(cost.collector_cpu_ns)),
        fact("waiting for ring space", duration(cost.wait_ns)),
        fact("stalled on writing", duration(summary.effort.held_ns)),
        fact("collector wake-ups", count(summary.effort.wake_ups)),
        fact("collector peak RSS", size(cost.collector_peak_rss)),
        fact("shared memory", size(cost.shared_memory)),
        fact("allocations by the agent", count(cost.agent_allocations)),
    ]
}

/// The programs' own heaps (pools).
fn heaps(out: &mut dyn Write, loaded: &Loaded, style: &Style) -> io::Result<()> {
    let columns =
        [("allocations", 12), ("frees", 12), ("peak", 10), ("leaked", 10), ("uncertain", 10), ("name", 0)];
    let rows = loaded.profile.pools.iter().map(|pool| {
        [
            count(pool.allocated.blocks),
            count(pool.freed.blocks),
            bytes(pool.peak.held.bytes),
            bytes(pool.leaked.bytes),
            bytes(pool.uncertain.bytes),
            escape(loaded.tables.string(pool.name)).into_owned(),
        ]
    });
    table(out, "Pools", columns, rows, style)
}

fn regions(out: &mut dyn Write, loaded: &Loaded, limit: usize, style: &Style) -> io::Result<()> {
    let columns =
        [("times", 8), ("shortest", 10), ("mean", 10), ("longest", 10), ("not ended", 9), ("region", 0)];
    let names = loaded.marks_by_name();
    let with_regions = || names.iter().filter(|row| !row.regions.is_empty());
    let rows = with_regions().take(limit).map(|row| {
        let lengths = row.lengths();
        let length = |of: fn(Lengths) -> u64| lengths.map_or(String::new(), |lengths| duration(of(lengths)));
        let unfinished =
            Some(row.unfinished()).filter(|&open| open > 0).map_or(String::new(), |open| count(open as i64));
        [
            count(row.regions.len() as i64),
            length(|lengths| lengths.min),
            length(|lengths| lengths.mean),
            length(|lengths| lengths.max),
            unfinished,
            escape(loaded.tables.string(row.name)).into_owned(),
        ]
    });
    table(out, "Regions", columns, rows, style)?;
    more(out, with_regions().count().saturating_sub(limit), "more name")
}

fn marks(out: &mut dyn Write, loaded: &Loaded, limit: usize, style: &Style) -> io::Result<()> {
    let columns = [("after", 10), ("pid", 8), ("kind", -7), ("name", 0)];
    let rows = loaded.marks().take(limit).map(|MarkRow { name, mark, process, .. }| {
        let pid = process.map_or("?".to_owned(), |process| process.pid.to_string());
        [duration(mark.time), pid, mark.kind.name().to_owned(), escape(name).into_owned()]
    });
    table(out, "Marks", columns, rows, style)?;
    more(out, loaded.tables.marks.len().saturating_sub(limit), "more mark")
}

fn scans(out: &mut dyn Write, loaded: &Loaded, limit: usize, style: &Style) -> io::Result<()> {
    let columns =
        [("scan", 6), ("after", 10), ("pid", 8), ("searched", 10), ("stopped for", 12), ("name", 0)];
    let rows = (1..).zip(&loaded.tables.scans).take(limit).map(|(number, scan): (usize, _)| {
        let process = loaded.tables.processes.get(scan.process.index());
        let pid = process.map_or("?".to_owned(), |process| process.pid.to_string());
        let searched = bytes(scan.searched.min(i64::MAX as u64).cast_signed());
        let name = process.map_or(String::new(), |process| escape(&process.name).into_owned());
        [number.to_string(), duration(scan.time), pid, searched, duration(scan.still_ns), name]
    });
    table(out, "Scans", columns, rows, style)?;
    more(out, loaded.tables.scans.len().saturating_sub(limit), "more scan")
}

/// The number of rows beyond the limit.
fn more(out: &mut dyn Write, hidden: usize, noun: &str) -> io::Result<()> {
    if hidden > 0 { writeln!(out, "  {}", not_shown(hidden, noun, "--limit")) } else { Ok(()) }
}

/// In order of their beginning; if there are too many, those that held most.
fn processes(out: &mut dyn Write, loaded: &Loaded, limit: usize, style: &Style) -> io::Result<()> {
    let columns =
        [("pid", 8), ("allocations", 12), ("peak", 10), ("not freed", 15), ("end", -18), ("name", 0)];
    let all: Vec<_> = loaded.tables.processes.iter().zip(&loaded.profile.processes).collect();
    let mut largest: Vec<usize> = (0..all.len()).collect();
    largest.sort_by_key(|&place| Reverse(all[place].1.peak.held.bytes));
    largest.truncate(limit);
    largest.sort_unstable();
    let titles = ProcessTitles::new(&loaded.tables.processes);
    let rows = largest.iter().map(|&place| {
        let (row, profile) = all[place];
        [
            row.pid.to_string(),
            count(profile.cost.allocated.blocks),
            bytes(profile.peak.held.bytes),
            bytes(profile.cost.leaked.bytes),
            ended_text(profile.ended),
            escape(&titles.of(row)).into_owned(),
        ]
    });
    table(out, "Processes", columns, rows, style)?;
    more(out, all.len() - largest.len(), "smaller process")
}

fn amount(amount: Amount) -> String {
    format!("{}, {}", count(amount.blocks), bytes(amount.bytes))
}
