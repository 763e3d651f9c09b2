//! What a recording found, in one screen: printed when it ends.

use super::errors::failed_in_all;
use super::info::remarks;
use super::leaks::interruption;
use super::outside::outside_of_heap;
use crate::ended::ended_text;
use crate::table::{Column, Document, Most, Row, Table, Title, Value, phrase};
use analysis::{
    Metric, ProcessTitles, StackState, early_ends, follows_exec, nameless_addresses, rows_as_read,
    stack_states, state_share, thread_count,
};
use capture::{Ended, MarkKind, Overhead, Process, ProcessId};
use engine::suppression::Left;
use engine::{Loaded, PeakKind};
use std::collections::HashSet;

/// Most stacks named.
const STACKS: usize = 5;

/// Functions shown of each.
const DEPTH: usize = 4;

/// The summary. `command` is how the user calls this program, for the suggested commands; none where these are of no
/// use.
pub fn summary(loaded: &Loaded, command: Option<&'static str>) -> Document {
    let left = Left::of(loaded);
    let mut tables = vec![facts(loaded, &left), holders(loaded), remarks(loaded)];
    tables.extend(command.map(|command| next_commands(loaded, &left, command)));
    let notes = outside_of_heap(loaded).map(|text| phrase!["note: ", text]);
    Document { notes: notes.into_iter().collect(), ..Document::new("summary", Title::None, tables) }
}

fn facts(loaded: &Loaded, left: &Left) -> Table {
    let profile = &loaded.profile;
    let (total, spread, peak) = (&profile.total, &profile.total_spread, profile.peak);
    let allocated = total.allocated;
    let allocations = [Value::blocks_of, Value::size_of].map(|of| of(allocated, spread.allocated));
    let [calls, size] = allocations;
    let Left { leaked, held, suppressed } = left;
    let hidden = match suppressed.0.is_zero() {
        true => Value::Empty,
        false => phrase![" (", Value::bytes(suppressed.0.bytes), " suppressed)"],
    };
    let has_ended = profile.processes.iter().any(|process| process.seen && process.ended != Ended::Running);
    let runs = !has_ended && loaded.tables.processes.iter().any(still_runs);
    let of_held = if has_ended { Value::Empty } else { hidden.clone() };
    let across = interruption(profile.gaps().gaps, profile.pauses().pauses);
    let temporary =
        Value::counted(total.temporary.blocks, "allocation").about(spread.temporary.blocks_error());
    let share = Value::Share(total.temporary.blocks, allocated.blocks);
    let invalid = profile.anomalies().unmatched_frees;
    let estimate = |(amount, spread)| Value::Estimate(amount, spread);
    let facts = [
        ("duration", Some(Value::Duration(loaded.duration_ns()))),
        ("allocations", Some(phrase![calls, ", ", size])),
        ("peak", Some(phrase![estimate((peak.held, spread.peak)), " after ", Value::Duration(peak.at.time)])),
        ("resident", resident(loaded)),
        ("leaked", (!runs).then(|| phrase![estimate(*leaked), hidden])),
        ("still held", (runs || !held.0.is_zero()).then(|| phrase![estimate(*held), of_held])),
        (
            "uncertain",
            (!total.uncertain.is_zero())
                .then(|| phrase![estimate((total.uncertain, spread.uncertain)), ", live across ", across]),
        ),
        ("at exec", (!total.at_exec.is_zero()).then(|| estimate((total.at_exec, spread.at_exec)))),
        ("temporary", Some(phrase![temporary, " (", share, " of all)"])),
        ("threads", Some(threads(loaded))),
        ("killed", killed(loaded)),
        ("ended", executed(loaded)),
        (
            "invalid",
            (invalid > 0)
                .then(|| phrase![Value::counted(invalid, "free"), " of addresses without a live block"]),
        ),
        ("failed", failed_in_all(loaded)),
        ("lost", Some(Value::counted(loaded.lost_events(), "event"))),
        ("stacks", Some(stacks(loaded))),
        ("names", unnamed(loaded)),
        ("cost", loaded.tables.summary.as_ref().map(|summary| cost(&summary.overhead))),
    ];
    let facts = facts.into_iter().filter_map(|(about, fact)| Some((about.into(), fact?)));
    let table = Table::facts(None, facts);
    Table { columns: vec![Column::shown("fact").left().width(12)], ..table }
}

/// How much was really in memory, of all that processes have there.
fn resident(loaded: &Loaded) -> Option<Value> {
    let (process, peak) = loaded.most_resident_process()?;
    let how = if peak.kind == PeakKind::Reading { ", the largest reading" } else { " at most" };
    let whose = match loaded.profile.processes.iter().filter(|process| process.seen).count() {
        1 => String::new(),
        _ => format!(" in process {}", loaded.tables.processes[process.index()].pid),
    };
    Some(phrase![Value::bytes(peak.bytes), how, whose, ", code and stacks included"])
}

/// How many addresses have no name; none if all have one.
fn unnamed(loaded: &Loaded) -> Option<Value> {
    let nameless = nameless_addresses(&loaded.profile, &loaded.tables, &loaded.names, Metric::Bytes);
    let all = Value::counted(loaded.addresses(), "address");
    let addresses = Value::count(nameless);
    (nameless > 0).then(|| phrase!["missing for ", addresses, " of ", all, "; info says why"])
}

/// What the recording cost.
fn cost(overhead: &Overhead) -> Value {
    let [agent, collector, wait] =
        [overhead.agent_cpu_ns, overhead.collector_cpu_ns, overhead.wait_ns].map(Value::Duration);
    let waited = if overhead.wait_ns == 0 { Value::Empty } else { phrase![", ", wait, " waiting"] };
    // Hooks time one event in 256.
    match overhead.agent_cpu_ns {
        0 => phrase![collector, " CPU in the collector, too few events to time in the program", waited],
        _ => phrase![agent, " CPU in the program, ", collector, " in the collector", waited],
    }
}

/// True for a process that went on when the recording ended.
fn still_runs(process: &Process) -> bool {
    process.end.as_ref().is_some_and(|end| end.ended == Ended::Running)
}

fn threads(loaded: &Loaded) -> Value {
    // A process that never allocated may have no thread here, and was recorded all the same.
    let with_threads: HashSet<_> = loaded.tables.threads.iter().map(|thread| thread.process).collect();
    let processes = (0..).map(ProcessId).zip(loaded.tables.processes.iter().zip(&loaded.profile.processes));
    let is_recorded = |id: ProcessId, seen: bool| seen || !with_threads.contains(&id);
    let processes = processes
        .filter(|(id, (process, counted))| {
            is_recorded(*id, counted.seen) && !follows_exec(&loaded.tables, process)
        })
        .count();
    let threads = Value::count(thread_count(&loaded.tables));
    phrase![threads, " that allocated or freed, in ", Value::counted(processes as u64, "process")]
}

/// Processes ended by a signal, such as crashes.
fn killed(loaded: &Loaded) -> Option<Value> {
    /// Most processes named.
    const NAMED: usize = 3;
    let titles = ProcessTitles::new(&loaded.tables.processes);
    let killed = loaded.tables.processes.iter().filter_map(|process| {
        let ended = process.end.as_ref()?.ended;
        let how = || format!("{} ({}) by {}", titles.of(process), process.pid, ended_text(ended));
        matches!(ended, Ended::Signaled(_)).then(how)
    });
    let killed: Vec<String> = killed.collect();
    (!killed.is_empty()).then_some(Value::Listed(killed, NAMED))
}

/// Processes that were attached to and then executed a program, which is not recorded.
fn executed(loaded: &Loaded) -> Option<Value> {
    let processes = &loaded.tables.processes;
    let is_unrecorded = |(place, process): &(usize, &Process)| {
        let has_executed = process.end.as_ref().is_some_and(|end| end.ended == Ended::Exec);
        let mut later = processes.iter().skip(place + 1);
        process.attached && has_executed && later.all(|later| later.pid != process.pid)
    };
    let unrecorded = processes.iter().enumerate().filter(is_unrecorded);
    let pids: Vec<String> = unrecorded.map(|(_, process)| process.pid.to_string()).collect();
    let all = pids.len();
    (all > 0).then(|| phrase![Value::Listed(pids, all), " called exec; the new program is not recorded"])
}

fn stacks(loaded: &Loaded) -> Value {
    let share = state_share(&loaded.profile, &stack_states(&loaded.tables));
    let mut parts = vec![Value::count(share.distinct), " distinct".into()];
    if share.distinct > 0 {
        let complete = Value::Share(share.complete_allocations, share.allocations);
        parts.push(phrase![", ", StackState::Complete.name(), " for ", complete, " of allocations"]);
    }
    for (number, state) in
        [(share.truncated, StackState::Truncated), (share.incomplete, StackState::Incomplete)]
    {
        if number > 0 {
            parts.push(phrase![", ", Value::count(number), " ", state.name()]);
        }
    }
    if share.truncated > 0 {
        parts.push("; --max-depth records more".into());
    }
    if !early_ends(&loaded.profile, &loaded.tables, Metric::Bytes).is_empty() {
        parts.push("; info says why".into());
    }
    Value::Phrase(parts)
}

fn holders(loaded: &Loaded) -> Table {
    let rows = rows_as_read(&loaded.profile, &loaded.tables, &loaded.names, Metric::Peak);
    let rows = rows.iter().take(STACKS).map(|row| {
        let peak = row.cost.peak.bytes;
        let size = Value::bytes(peak).marked(row.spread.peak.bytes_error());
        Row::new(
            [size, Value::Share(peak, loaded.profile.peak.held.bytes)],
            Value::Innermost(row.node, DEPTH),
        )
    });
    let columns = [Column::shown("bytes"), Column::shown("share").width(7)];
    let table = Table::new("holders", columns, "stack").titled("Top stacks at the peak");
    Table { most: Most::All, ..table }.rows(rows)
}

fn next_commands(loaded: &Loaded, Left { leaked, held, .. }: &Left, command: &'static str) -> Table {
    let file = shell_word(&loaded.source.file);
    let total = &loaded.profile.total;
    let mut lines = Vec::new();
    if loaded.invalid_frees() > 0 || !loaded.profile.failures.is_empty() {
        lines.push((format!("errors {file}"), "failed allocations, and frees of what was no block"));
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
    let lines =
        lines.into_iter().map(|(line, meaning)| (Value::from(format!("{command} {line}")), meaning.into()));
    Table::facts("Next", lines)
}

/// What helps if memory apart from the heap is what counts, or if the heap is not there.
fn beside_heap(loaded: &Loaded, file: &str) -> Option<(String, &'static str)> {
    let metadata = &loaded.tables.metadata;
    let held = loaded.profile.peak.held.bytes;
    if outside_of_heap(loaded).is_some() && metadata.aggregate().is_none() {
        return Some((format!("blocks --by mapping {file}"), "who mapped memory outside the heap"));
    }
    if loaded.most_resident().is_none_or(|resident| resident >= held) {
        return None;
    }
    let faults = loaded.tables.summary.as_ref().is_some_and(|summary| summary.faults.is_recorded);
    Some(match faults {
        true => (
            format!("pages --by allocation {file}"),
            "what of it was ever touched: less is resident than is held",
        ),
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
    format!("'{}'", file.replace('\'', r"'\''"))
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
