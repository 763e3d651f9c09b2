//! `resident`: what memory is actually resident, who allocated it, and who touched it.

use super::escape::escape;
use super::headline::{span, warnings};
use super::stack_line::{header, heading, rest, stack_line};
use super::style::{Role, Style};
use crate::options::ResidentBy;
use analysis::format::{bytes, count, counted, percent};
use analysis::{HeldRow, ResidencySums, ResidencyTable, Span, TouchRow, process_name};
use capture::NodeId;
use engine::Loaded;
use std::io::{self, Write};

/// Writes what is resident by kind, followed by stacks, at most `limit` rows.
///
/// # Errors
/// Those of the writer.
pub fn resident(
    out: &mut dyn Write,
    loaded: &Loaded,
    table: &ResidencyTable,
    by: ResidentBy,
    limit: usize,
    style: &Style,
) -> io::Result<()> {
    let file = escape(&loaded.source.file);
    let when = match loaded.profile.span {
        Span::Whole => "at exit",
        Span::At(_) => "then",
        Span::Range { .. } => "at the end of this range, and not at its start",
    };
    let total = bytes(table.sums.total());
    let title = format!("{file}{}: {total} resident {when}", span(loaded.profile.span));
    writeln!(out, "{}", style.paint(Role::Heading, title))?;
    warnings(out, loaded, style)?;
    for note in notes(loaded, table) {
        writeln!(out, "{}", style.paint(Role::Warning, format!("  {note}")))?;
    }
    writeln!(out)?;
    names(out, table, style)?;
    processes(out, loaded, table, style)?;
    match by {
        ResidentBy::Allocation => held(out, loaded, &table.held, limit, style),
        ResidentBy::Touch => touched(out, loaded, &table.touched, limit, style),
    }
}

/// Why the numbers are incomplete.
fn notes(loaded: &Loaded, table: &ResidencyTable) -> Vec<String> {
    let told = loaded.tables.summary.as_ref().map(|summary| &summary.faults);
    let mut notes = Vec::new();
    notes.extend(told.map(|told| escape(&told.refused).into_owned()).filter(|refused| !refused.is_empty()));
    if table.lost > 0 {
        notes.push(format!("{} lost: their pages are missing here", counted(table.lost, "page fault")));
    }
    if table.beyond > 0 {
        notes.push(format!("{} not followed (too many)", counted(table.beyond, "page")));
    }
    if table.huge_at_most > 0 {
        let most = bytes(table.huge_at_most.cast_signed());
        notes.push(format!("up to {most} more, where one fault mapped a huge page"));
    }
    if loaded.tables.processes.iter().any(|process| process.attached) {
        notes.push("pages that were resident before the recording are unknown".to_owned());
    }
    if loaded.profile.sampling.is_some() {
        notes.push(
            "blocks are estimates; space between them is not distinguished from what libc keeps".to_owned(),
        );
    }
    notes
}

fn names(out: &mut dyn Write, table: &ResidencyTable, style: &Style) -> io::Result<()> {
    let sums = &table.sums;
    header(out, style, &format!("{:>11}  {:>7}  what", "resident", "share"))?;
    for (size, what) in parts(sums) {
        if size == 0 {
            continue;
        }
        writeln!(out, "{:>11}  {:>7}  {what}", bytes(size), percent(size, sums.total()))?;
    }
    if sums.held > 0 {
        let untouched = sums.untouched();
        let text = format!(
            "of {} in live blocks, {} ({}) was never touched",
            bytes(sums.held),
            bytes(untouched),
            percent(untouched, sums.held)
        );
        writeln!(out, "{}", style.paint(Role::Detail, text))?;
    }
    Ok(())
}

/// The sums in words.
fn parts(sums: &ResidencySums) -> [(i64, &'static str); 8] {
    [
        (sums.blocks, "live blocks"),
        (sums.other_blocks, "live blocks outside the selection"),
        (sums.free, "heap pages without a live block: freed, kept by libc"),
        (sums.slack, "between live blocks, on the same pages"),
        (sums.stacks, "thread stacks"),
        (sums.files, "files and shared memory"),
        (sums.anonymous, "other anonymous memory"),
        (sums.unknown, "unknown memory"),
    ]
}

/// Each process, next to the resident size that the kernel reported.
fn processes(out: &mut dyn Write, loaded: &Loaded, table: &ResidencyTable, style: &Style) -> io::Result<()> {
    heading(out, style, "By process")?;
    header(out, style, &format!("{:>11}  {:>11}  {:>11}  process", "resident", "heap", "last RSS"))?;
    for (process, sums) in &table.processes {
        let row = loaded.tables.processes.get(process.index());
        let name = row.map_or("?".to_owned(), |row| format!("{} ({})", process_name(row), row.pid));
        let rss = loaded.last_rss(*process).map_or("?".to_owned(), |size| bytes(size.cast_signed()));
        let (resident, heap) = (bytes(sums.total()), bytes(sums.heap()));
        writeln!(out, "{resident:>11}  {heap:>11}  {rss:>11}  {}", escape(&name))?;
    }
    Ok(())
}

fn held(
    out: &mut dyn Write,
    loaded: &Loaded,
    rows: &[HeldRow],
    limit: usize,
    style: &Style,
) -> io::Result<()> {
    heading(out, style, "By allocating stack")?;
    let titles = format!("{:>11}  {:>11}  {:>11}  {:>9}  stack", "resident", "untouched", "held", "blocks");
    header(out, style, &titles)?;
    for row in rows.iter().take(limit) {
        let untouched = bytes(row.untouched());
        let numbers =
            [bytes(row.resident), untouched, bytes(row.held.bytes)].map(|size| format!("{size:>11}"));
        let stack = style.paint(Role::Function, stack_line(loaded, row.node, style, 50));
        writeln!(out, "{}  {:>9}  {stack}", numbers.join("  "), count(row.held.blocks))?;
    }
    rest(out, style, rows.len().saturating_sub(limit), "more stack")
}

fn touched(
    out: &mut dyn Write,
    loaded: &Loaded,
    rows: &[TouchRow],
    limit: usize,
    style: &Style,
) -> io::Result<()> {
    heading(out, style, "By touching stack")?;
    header(out, style, &format!("{:>11}  {:>11}  stack", "resident", "in blocks"))?;
    for row in rows.iter().take(limit) {
        let stack = match row.node {
            NodeId::ROOT => "[no room for the stack]".to_owned(),
            node => stack_line(loaded, node, style, 28),
        };
        let numbers = [row.bytes, row.in_blocks].map(|size| format!("{:>11}", bytes(size.cast_signed())));
        writeln!(out, "{}  {}", numbers.join("  "), style.paint(Role::Function, stack))?;
    }
    rest(out, style, rows.len().saturating_sub(limit), "more stack")
}
