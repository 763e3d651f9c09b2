//! `leaks`: what was still allocated at the end, by stack, and what only seems leaked.

use super::early_ends::early_ends_footnote;
use super::escape::escape;
use super::estimate;
use super::frames::frames;
use super::headline::{headline, interruption};
use super::line::print;
use super::nameless::footnote;
use super::style::{Role, Style};
use analysis::format::{bytes, count, counted, duration, percent};
use analysis::{Amount, Metric, Spread, call_of, process_name, rows_as_read};
use capture::Ended;
use engine::{Loaded, Suppressed, Use};
use heap_graph::Reach;
use std::cmp::Reverse;
use std::io::{self, Write};

/// Writes the stacks that hold most at the end, at most `limit`.
///
/// # Errors
/// Those of the writer.
pub fn leaks(out: &mut dyn Write, loaded: &Loaded, limit: usize, style: &Style) -> io::Result<()> {
    let metric = Metric::Leaked;
    headline(out, loaded, metric, style)?;
    beside(out, loaded)?;
    let rows = rows_as_read(&loaded.profile, &loaded.tables, &loaded.names, metric);
    let total = loaded.profile.total.leaked;
    let shown = rows.len().min(limit.max(1));
    for row in &rows[..shown] {
        let leaked = row.cost.leaked;
        let share = percent(leaked.bytes, total.bytes);
        let call = call_of(&loaded.tables, row.node);
        let spread = row.spread.leaked;
        let size = style.paint(Role::Value, estimate::bytes(leaked, spread));
        let blocks = estimate::counted(leaked, spread, "block");
        writeln!(out, "\n{size} ({share}) in {blocks} from {call}")?;
        print(out, &frames(loaded, row.node, style), style)?;
    }
    if rows.len() > shown {
        let mut rest = (Amount::ZERO, Spread::ZERO);
        rows[shown..].iter().for_each(|row| rest = (rest.0 + row.cost.leaked, rest.1 + row.spread.leaked));
        let (rest, spread) = rest;
        let stacks = counted((rows.len() - shown) as u64, "more stack");
        let blocks = estimate::counted(rest, spread, "block");
        writeln!(
            out,
            "\n{} ({}) in {blocks} from {stacks} not shown (--limit)",
            estimate::bytes(rest, spread),
            percent(rest.bytes, total.bytes)
        )?;
    }
    if let Some(suppressed) = &loaded.suppressed {
        suppressions(out, suppressed, style)?;
    }
    footnote(out, loaded, metric, style)?;
    early_ends_footnote(out, loaded, metric, style)
}

/// What is counted although it may be freed yet, and what is not counted although it was never freed.
fn beside(out: &mut dyn Write, loaded: &Loaded) -> io::Result<()> {
    let profile = &loaded.profile;
    let running = profile.still_running();
    if let Some(reach) = &loaded.reach {
        return reached(out, reach, loaded.suppressed.as_ref());
    }
    if !running.is_zero() {
        let number = profile.processes.iter().filter(|process| process.ended == Ended::Running);
        let number = number.filter(|process| process.seen).count();
        let processes = counted(number as u64, "process");
        writeln!(
            out,
            "  including {} in {processes} still running: not leaked yet",
            estimate::held(running, profile.still_running_spread())
        )?;
    }
    let (killed, spread) = profile.killed();
    if !killed.is_zero() {
        let killed = estimate::held(killed, spread);
        writeln!(out, "  including {killed} in processes killed by a signal, which could not free them")?;
    }
    if !profile.total.uncertain.is_zero() {
        let uncertain = estimate::held(profile.total.uncertain, profile.total_spread.uncertain);
        writeln!(
            out,
            "  not included: {uncertain}, uncertain: live across {}, so the free may have been lost",
            interruption(profile.gaps().gaps, profile.pauses().pauses)
        )?;
    }
    if !profile.total.at_exec.is_zero() {
        let at_exec = estimate::held(profile.total.at_exec, profile.total_spread.at_exec);
        writeln!(out, "  not included: {at_exec} live when exec replaced {}", replaced(loaded))?;
    }
    if let Some(suppressed) = &loaded.suppressed {
        left_out(out, suppressed)?;
    }
    if loaded.seen.is_some() || loaded.suppressed.is_some() {
        // This is only known for whole processes, not for stacks.
        return Ok(());
    }
    let in_realloc = profile.processes.iter().fold(Amount::ZERO, |sum, process| sum + process.in_realloc);
    if !in_realloc.is_zero() {
        writeln!(out, "  in a realloc that did not return: {}", estimate::held(in_realloc, Spread::ZERO))?;
    }
    Ok(())
}

/// How reliable the unreachable amounts are.
fn reached(out: &mut dyn Write, reach: &Reach, suppressed: Option<&Suppressed>) -> io::Result<()> {
    let processes = |count: usize| counted(count as u64, "process");
    if reach.unscanned > 0 {
        writeln!(
            out,
            "  not scanned: {} with blocks left, of which nothing is known",
            processes(reach.unscanned)
        )?;
    }
    if reach.partial > 0 {
        let of = processes(reach.partial);
        writeln!(
            out,
            "  not all blocks of {of} are known: memory outside known blocks counts as in use, so more may be unreachable"
        )?;
    }
    if reach.unread > 0 {
        let unread = bytes(reach.unread.min(i64::MAX as u64).cast_signed());
        writeln!(
            out,
            "  {unread} of memory could not be read: blocks referenced only from there are listed, too"
        )?;
    }
    if reach.lost > 0 {
        let pointers = counted(reach.lost, "pointer");
        writeln!(
            out,
            "  {pointers} dropped for lack of room: blocks referenced only that way are listed, too"
        )?;
    }
    if !reach.freed_later.is_zero() {
        let freed = estimate::held(reach.freed_later, Spread::ZERO);
        writeln!(
            out,
            "  not included: {freed} that seemed unreachable but was freed later: its address was stored in another form"
        )?;
    }
    suppressed.map_or(Ok(()), |suppressed| left_out(out, suppressed))
}

/// What rules exclude.
fn left_out(out: &mut dyn Write, suppressed: &Suppressed) -> io::Result<()> {
    if !suppressed.total.is_zero() {
        let hidden = estimate::held(suppressed.total, suppressed.spread);
        writeln!(out, "  not included: {hidden} suppressed by the rules below")?;
    }
    if let Some(age) = suppressed.older_than_ns {
        let young = estimate::held(suppressed.young, suppressed.young_spread);
        writeln!(out, "  not included: {young} younger than {} at the end", duration(age))?;
    }
    Ok(())
}

/// A row for each rule, ordered by how much it suppressed.
///
/// ```text
/// Suppressions
///     bytes      blocks      stacks  rule
///  71.0 KiB           1           1  cache_init  (app.supp:3)
///       0 B           0           0  old_cache  (app.supp:4, unused)
/// ```
fn suppressions(out: &mut dyn Write, suppressed: &Suppressed, style: &Style) -> io::Result<()> {
    for program in &suppressed.unread {
        let text =
            format!("note: {} computes its own suppressions, so they could not be read", escape(program));
        writeln!(out, "{}", style.paint(Role::Warning, text))?;
    }
    if suppressed.uses.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", style.paint(Role::Heading, "Suppressions"))?;
    let header = format!("{:>10}  {:>10}  {:>10}  rule", "bytes", "blocks", "stacks");
    writeln!(out, "{}", style.paint(Role::Detail, header))?;
    let mut uses: Vec<&Use> = suppressed.uses.iter().collect();
    uses.sort_by_key(|used| Reverse((used.amount.bytes, used.amount.blocks)));
    for used in uses {
        let size = estimate::marked(bytes(used.amount.bytes), used.spread.bytes_error());
        let blocks = estimate::marked(count(used.amount.blocks), used.spread.blocks_error());
        let unused = if used.stacks == 0 { ", unused" } else { "" };
        let from = escape(&format!("({}{unused})", used.rule.origin)).into_owned();
        let rule = escape(&used.rule.text).into_owned();
        let from = style.paint(Role::Detail, from);
        writeln!(out, "{size:>10}  {blocks:>10}  {:>10}  {rule}  {from}", count(used.stacks))?;
    }
    Ok(())
}

fn replaced(loaded: &Loaded) -> String {
    let images = loaded.profile.processes.iter().zip(&loaded.tables.processes);
    let mut names: Vec<String> = images
        .filter(|(profile, _)| !profile.cost.at_exec.is_zero())
        .map(|(_, process)| escape(&process_name(process)).into_owned())
        .collect();
    names.dedup();
    match names.len() {
        0..=3 => names.join(", "),
        more => format!("{} and {} more", names[..2].join(", "), more - 2),
    }
}
