//! What a recording found, in one screen: printed when it ends.

use super::beside;
use super::escape::escape;
use super::estimate;
use super::headline::{interruption, remark_texts, warnings};
use super::stack_line::stack_line_to;
use super::style::{Role, Style};
use super::words::words;
use crate::ended::ended_text;
use crate::views::failed_in_all;
use analysis::format::{bytes, count, counted, duration, listed, percent};
use analysis::{
    Metric, ProcessTitles, StackState, early_ends, follows_exec, nameless, rows_as_read, stack_states,
    state_share, thread_count,
};
use capture::{Ended, MarkKind, Overhead, Process, ProcessId};
use engine::suppression::Left;
use engine::{Loaded, PeakKind};
use std::collections::HashSet;
use std::io::{self, Write};

/// Most stacks named.
const STACKS: usize = 5;

/// Functions shown of each.
const DEPTH: usize = 4;

/// Writes the summary. `command` is how the user calls this program, for the suggested commands.
///
/// # Errors
/// Those of the writer.
pub fn summary(out: &mut dyn Write, loaded: &Loaded, command: &str, style: &Style) -> io::Result<()> {
    let left = Left::of(loaded);
    found(out, loaded, &left, style)?;
    next_commands(out, loaded, &left, command, style)
}

/// The same without suggested commands.
///
/// # Errors
/// Those of the writer.
pub fn overview(out: &mut dyn Write, loaded: &Loaded, style: &Style) -> io::Result<()> {
    found(out, loaded, &Left::of(loaded), style)
}

fn found(out: &mut dyn Write, loaded: &Loaded, left: &Left, style: &Style) -> io::Result<()> {
    for (name, text) in facts(loaded, left) {
        writeln!(out, "{}{text}", style.paint(Role::Heading, format!("{name:<14}")))?;
    }
    warnings(out, loaded, style)?;
    beside::pages(out, loaded, style)?;
    holders(out, loaded, style)?;
    remarks(out, loaded, style)
}

fn facts(loaded: &Loaded, left: &Left) -> Vec<(&'static str, String)> {
    let profile = &loaded.profile;
    let (total, spread) = (&profile.total, &profile.total_spread);
    let mut facts = Vec::new();
    facts.push(("duration", duration(loaded.duration_ns())));
    let allocated = total.allocated;
    facts.push((
        "allocations",
        format!(
            "{}, {}",
            estimate::blocks(allocated, spread.allocated),
            estimate::bytes(allocated, spread.allocated)
        ),
    ));
    let peak = profile.peak;
    facts.push((
        "peak",
        format!("{} after {}", estimate::held(peak.held, spread.peak), duration(peak.at.time)),
    ));
    facts.extend(resident(loaded).map(|text| ("resident", text)));
    let Left { leaked, held, suppressed } = left;
    let suppressed = match suppressed.0.is_zero() {
        true => String::new(),
        false => format!(" ({} suppressed)", bytes(suppressed.0.bytes)),
    };
    let has_ended = profile.processes.iter().any(|process| process.seen && process.ended != Ended::Running);
    if has_ended || held.0.is_zero() {
        facts.push(("leaked", estimate::held(leaked.0, leaked.1) + &suppressed));
    }
    if !held.0.is_zero() {
        let suppressed = if has_ended { String::new() } else { suppressed };
        facts.push(("still held", estimate::held(held.0, held.1) + &suppressed));
    }
    if !total.uncertain.is_zero() {
        facts.push((
            "uncertain",
            format!(
                "{}, live across {}",
                estimate::held(total.uncertain, spread.uncertain),
                interruption(profile.gaps().gaps, profile.pauses().pauses)
            ),
        ));
    }
    if !total.at_exec.is_zero() {
        facts.push(("at exec", estimate::held(total.at_exec, spread.at_exec)));
    }
    let share = percent(total.temporary.blocks, allocated.blocks);
    let temporary = estimate::counted(total.temporary, spread.temporary, "allocation");
    facts.push(("temporary", format!("{temporary} ({share} of all)")));
    facts.push(("threads", threads(loaded)));
    facts.extend(killed(loaded).map(|text| ("killed", text)));
    facts.extend(executed(loaded).map(|text| ("ended", text)));
    let invalid = profile.anomalies().unmatched_frees;
    if invalid > 0 {
        facts.push(("invalid", format!("{} of addresses without a live block", counted(invalid, "free"))));
    }
    facts.extend(failed_in_all(loaded).map(|all| ("failed", words(loaded, &all, usize::MAX))));
    facts.push(("lost", counted(loaded.lost_events(), "event")));
    facts.push(("stacks", stacks(loaded)));
    facts.extend(unnamed(loaded).map(|text| ("names", text)));
    facts.extend(loaded.tables.summary.as_ref().map(|summary| ("cost", cost(&summary.overhead))));
    facts
}

/// How much was really in memory, of all that processes have there.
fn resident(loaded: &Loaded) -> Option<String> {
    let (process, peak) = loaded.most_resident_process()?;
    let size = bytes(i64::try_from(peak.bytes).unwrap_or(i64::MAX));
    let how = if peak.kind == PeakKind::Reading { ", the largest reading" } else { " at most" };
    let whose = match loaded.profile.processes.iter().filter(|process| process.seen).count() {
        1 => String::new(),
        _ => format!(" in process {}", loaded.tables.processes[process.index()].pid),
    };
    Some(format!("{size}{how}{whose}, code and stacks included"))
}

/// How many addresses have no name; none if all have one.
fn unnamed(loaded: &Loaded) -> Option<String> {
    let nameless = nameless(&loaded.profile, &loaded.tables, &loaded.names, Metric::Bytes);
    let addresses = nameless.iter().map(|nameless| nameless.frames).sum::<u64>();
    let all = counted(loaded.addresses(), "address");
    (!nameless.is_empty()).then(|| format!("missing for {} of {all}; info says why", count(addresses)))
}

/// What the recording cost.
fn cost(overhead: &Overhead) -> String {
    let (agent, collector) = (duration(overhead.agent_cpu_ns), duration(overhead.collector_cpu_ns));
    let waited = match overhead.wait_ns {
        0 => String::new(),
        wait => format!(", {} waiting", duration(wait)),
    };
    format!("{agent} CPU in the program, {collector} in the collector{waited}")
}

fn threads(loaded: &Loaded) -> String {
    // A process that never allocated may have no thread here, and was recorded all the same.
    let with_threads: HashSet<_> = loaded.tables.threads.iter().map(|thread| thread.process).collect();
    let processes = (0..).map(ProcessId).zip(loaded.tables.processes.iter().zip(&loaded.profile.processes));
    let is_recorded = |id: ProcessId, seen: bool| seen || !with_threads.contains(&id);
    let processes = processes
        .filter(|(id, (process, counted))| {
            is_recorded(*id, counted.seen) && !follows_exec(&loaded.tables, process)
        })
        .count();
    let threads = counted(thread_count(&loaded.tables), "thread");
    format!("{threads} in {}", counted(processes as u64, "process"))
}

/// Processes ended by a signal, such as crashes.
fn killed(loaded: &Loaded) -> Option<String> {
    /// Most processes named.
    const NAMED: usize = 3;
    let by_signal =
        |process: &&Process| process.end.as_ref().is_some_and(|end| matches!(end.ended, Ended::Signaled(_)));
    let killed: Vec<&Process> = loaded.tables.processes.iter().filter(by_signal).collect();
    let titles = ProcessTitles::new(&loaded.tables.processes);
    let named = killed.iter().filter_map(|process| {
        let how = ended_text(process.end.as_ref()?.ended);
        Some(format!("{} ({}) by {how}", escape(&titles.of(process)), process.pid))
    });
    (!killed.is_empty()).then(|| listed(&Vec::from_iter(named), NAMED))
}

/// Processes that were attached to and then executed a program, which is not recorded.
fn executed(loaded: &Loaded) -> Option<String> {
    let processes = &loaded.tables.processes;
    let is_unrecorded = |(place, process): &(usize, &Process)| {
        let has_executed = process.end.as_ref().is_some_and(|end| end.ended == Ended::Exec);
        let mut later = processes.iter().skip(place + 1);
        process.attached && has_executed && later.all(|later| later.pid != process.pid)
    };
    let pids: Vec<String> = processes
        .iter()
        .enumerate()
        .filter(is_unrecorded)
        .map(|(_, process)| process.pid.to_string())
        .collect();
    let text = format!("{} called exec; the new program is not recorded", pids.join(", "));
    (!pids.is_empty()).then_some(text)
}

fn stacks(loaded: &Loaded) -> String {
    let share = state_share(&loaded.profile, &stack_states(&loaded.tables));
    let mut text = format!("{} distinct", count(share.distinct));
    if share.distinct > 0 {
        let complete = percent(share.complete_allocations, share.allocations);
        text += &format!(", {} for {complete} of allocations", StackState::Complete.name());
    }
    for (number, state) in
        [(share.truncated, StackState::Truncated), (share.incomplete, StackState::Incomplete)]
    {
        if number > 0 {
            text += &format!(", {} {}", count(number), state.name());
        }
    }
    if share.truncated > 0 {
        text += "; --max-depth records more";
    }
    if !early_ends(&loaded.profile, &loaded.tables, Metric::Bytes).is_empty() {
        text += "; info says why";
    }
    text
}

fn holders(out: &mut dyn Write, loaded: &Loaded, style: &Style) -> io::Result<()> {
    let rows = rows_as_read(&loaded.profile, &loaded.tables, &loaded.names, Metric::Peak);
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", style.paint(Role::Heading, "Top stacks at the peak"))?;
    for row in rows.iter().take(STACKS) {
        let peak = row.cost.peak.bytes;
        let share = percent(peak, loaded.profile.peak.held.bytes);
        let size = estimate::marked(bytes(peak), row.spread.peak.bytes_error());
        let size = style.paint(Role::Value, format!("{size:>10}"));
        let stack = stack_line_to(DEPTH, loaded, row.node, style, 21);
        writeln!(out, "{size}  {share:>7}  {stack}")?;
    }
    Ok(())
}

fn remarks(out: &mut dyn Write, loaded: &Loaded, style: &Style) -> io::Result<()> {
    let remarks = remark_texts(loaded);
    if remarks.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", style.paint(Role::Heading, "Remarks"))?;
    for remark in remarks {
        writeln!(out, "  {}", escape(&remark))?;
    }
    Ok(())
}

fn next_commands(
    out: &mut dyn Write,
    loaded: &Loaded,
    Left { leaked, held, .. }: &Left,
    command: &str,
    style: &Style,
) -> io::Result<()> {
    let file = shell_word(&loaded.source.file);
    writeln!(out, "\n{}", style.paint(Role::Heading, "Next"))?;
    let total = &loaded.profile.total;
    let mut lines = Vec::new();
    if loaded.invalid_frees() > 0 {
        lines.push((format!("invalid-frees {file}"), "what was freed twice, or never allocated"));
    }
    if !loaded.profile.failures.is_empty() {
        lines.push((format!("failed {file}"), "which allocations failed, and what was held then"));
    }
    if !total.allocated.is_zero() {
        lines.push((format!("report {file}"), "who held the memory at the peak"));
        lines.push((
            format!("report --tree --by allocations {file}"),
            "who allocates most often, from main inwards",
        ));
    } else if !total.cpu.is_zero() {
        lines.push((format!("report --cpu {file}"), "where CPU time went: no allocations were recorded"));
    } else {
        lines.push((format!("info {file}"), "what was recorded and lost: no allocations were"));
    }
    lines.extend(beside_heap(loaded, &file));
    // Memory held by a process that is still running is not a leak yet: its growth is what counts.
    if let Some((from, to)) = marked_moments(loaded) {
        let (from, to) = (shell_word(from), shell_word(to));
        lines.push((format!("diff {file} --from {from} --to {to}"), "what changed between these marks"));
    } else if !held.0.is_zero() {
        lines.push((format!("diff {file} --from 10% --to end"), "what has grown since the beginning"));
    }
    if !leaked.0.is_zero() {
        lines.push((format!("leaks {file}"), "what was still allocated at the end"));
    }
    if !loaded.tables.scans.is_empty() {
        lines.push((format!("retained {file}"), "what kept memory alive, and what was unreachable"));
    }
    let width = lines.iter().map(|(line, _)| super::escape::columns(line)).max().unwrap_or(0);
    for (line, meaning) in lines {
        let blank = " ".repeat(width - super::escape::columns(&line));
        writeln!(out, "  {command} {line}{blank}  {}", style.paint(Role::Detail, meaning))?;
    }
    Ok(())
}

/// What helps if memory apart from the heap is what counts, or if the heap is not there.
fn beside_heap(loaded: &Loaded, file: &str) -> Option<(String, &'static str)> {
    let metadata = &loaded.tables.metadata;
    let has_blocks = metadata.aggregate().is_none() && metadata.sample_interval == 0;
    let held = loaded.profile.peak.held.bytes;
    if beside::pages_text(loaded).is_some() && has_blocks {
        return Some((format!("pages {file}"), "which pages the heap keeps; the rest is outside of it"));
    }
    if loaded.most_resident().is_none_or(|resident| resident >= held) {
        return None;
    }
    let faults = loaded.tables.summary.as_ref().is_some_and(|summary| summary.faults.is_recorded);
    Some(match faults {
        true => (format!("resident {file}"), "what of it was ever touched: less is resident than is held"),
        false => ("run --faults -- …".to_owned(), "which memory is touched: less is resident than is held"),
    })
}

/// The first and the last named moment, if their names resolve to them.
fn marked_moments(loaded: &Loaded) -> Option<(&str, &str)> {
    let marks = loaded.tables.marks.iter().filter(|mark| mark.kind == MarkKind::Instant);
    let names: Vec<&str> = marks.map(|mark| loaded.tables.string(mark.name)).collect();
    let (first, last) = (*names.first()?, *names.last()?);
    let is_alone = |name: &str| names.iter().filter(|other| **other == name).count() == 1;
    let is_name =
        |name: &str| name.starts_with(char::is_alphabetic) && !["start", "end", "peak"].contains(&name);
    [first, last]
        .into_iter()
        .all(|name| is_alone(name) && is_name(name))
        .then_some((first, last))
        .filter(|_| names.len() > 1)
}

/// A file name, quoted for a shell if necessary.
fn shell_word(file: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "/._-+=:@%".contains(char);
    if !file.is_empty() && file.chars().all(plain) {
        return file.to_owned();
    }
    escape(&format!("'{}'", file.replace('\'', r"'\''"))).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that a name can be pasted into a shell.
    #[test]
    fn file_names_are_quoted_where_needed() {
        for (file, expected) in [
            ("app.1000.memprof", "app.1000.memprof"),
            ("/tmp/a b", "'/tmp/a b'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
            ("-x;rm", "'-x;rm'"),
        ] {
            assert_eq!(shell_word(file), expected);
        }
    }
}
