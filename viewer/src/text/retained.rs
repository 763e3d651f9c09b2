//! `retained`: what stacks and roots keep alive, and what nobody can reach any more.
//!
//! ```text
//!    retained    share          own      blocks  stack
//!       120 B   88.9 %        100 B           1  insert (cache.c:12) < main
//!                                                kept by cache
//!        35 B   25.9 %         30 B           3  push (list.c:7) < main
//!                                                20 B kept by insert (cache.c:12) < main
//!                                                15 B kept by several roots
//! ```

use super::escape::{escape, fit};
use super::headline::warnings;
use super::stack_line::{header, heading, rest, stack_line};
use super::style::{Role, Style};
use crate::analysis::Amount;
use crate::format::{bytes, count, counted, duration, percent};
use crate::graph::{Holder, Retained, RetainedRow, RootId, Scanned, Unreachable, root_name};
use crate::loaded::Loaded;
use std::io::{self, Write};

/// Columns of the numbers before a name.
pub(super) const WIDTH: usize = 48;

/// Writes the stacks that retain most, each with what keeps it, then roots, then stacks of what is unreachable: at most `limit` of each.
///
/// # Errors
/// Those of the writer.
pub fn retained(
    out: &mut dyn Write,
    loaded: &Loaded,
    scanned: &Scanned,
    limit: usize,
    style: &Style,
) -> io::Result<()> {
    head(out, loaded, scanned, style)?;
    let Scanned { graph, roots: names, .. } = scanned;
    let found = graph.retained();
    by_stack(out, loaded, &found, names, limit, style)?;
    by_root(out, &found, names, limit, style)?;
    unreachable(out, loaded, &graph.unreachable(), limit, style)
}

/// What the graph is made of, up to the line that explains its numbers.
pub(super) fn head(out: &mut dyn Write, loaded: &Loaded, scanned: &Scanned, style: &Style) -> io::Result<()> {
    let Scanned { scan, number, count: scans, graph, .. } = scanned;
    let figures = graph.figures();
    let sized = |amount: Amount| format!("{} in {}", bytes(amount.bytes), counted(amount.blocks, "block"));
    let process = loaded.tables.processes.get(scan.process.index());
    let process = process.map_or_else(String::new, |process| format!("{} ({})", process.name, process.pid));
    let unreachable = figures.blocks - figures.reachable;
    let text = format!(
        "{} at {}: {} held {}, {}",
        escape(&loaded.source.file),
        duration(scan.time),
        escape(&process),
        sized(figures.blocks),
        match unreachable.blocks {
            0 => "all of it reachable".into(),
            _ => format!("{} of it unreachable", sized(unreachable)),
        }
    );
    writeln!(out, "{}", style.paint(Role::Heading, text))?;
    warnings(out, loaded, style)?;
    let mut missing = Vec::new();
    if scan.unread > 0 {
        let unread = bytes(scan.unread.min(i64::MAX as u64).cast_signed());
        missing.push(format!(
            "{unread} of memory could not be read: what is held from there alone counts as unreachable"
        ));
    }
    if scan.lost > 0 {
        missing.push(format!(
            "{} had no room: what is held from there alone counts as unreachable",
            counted(scan.lost, "pointer")
        ));
    }
    let freed = scanned.freed_later();
    if !freed.is_zero() {
        missing.push(format!(
            "{} of what seems unreachable was freed later: it was held in another form",
            sized(freed)
        ));
    }
    if !figures.overlapping.is_zero() {
        missing.push(format!("{} not looked at: they lie in others", sized(figures.overlapping)));
    }
    if figures.left_out > 0 {
        missing.push(format!("{} not looked at: there are too many", counted(figures.left_out, "pointer")));
    }
    for text in missing {
        writeln!(out, "{}", style.paint(Role::Warning, format!("warning: {text}")))?;
    }
    let mut explained = vec![
        format!(
            "scan {number} of {scans}: the process stood still for {} while {} were searched",
            duration(scan.still_ns),
            bytes(scan.searched.min(i64::MAX as u64).cast_signed())
        ),
        "retained: what nobody could reach without these blocks; whatever looks like a pointer counts as one"
            .into(),
    ];
    if scanned.is_partial {
        explained.push(
            "not all blocks are known: memory outside of those that are holds others as if it were in use"
                .into(),
        );
    }
    explained.iter().try_for_each(|text| writeln!(out, "  {}", style.paint(Role::Detail, text)))?;
    writeln!(out)
}

fn by_stack(
    out: &mut dyn Write,
    loaded: &Loaded,
    found: &Retained,
    names: &[String],
    limit: usize,
    style: &Style,
) -> io::Result<()> {
    header(out, style, &titles(["retained", "share", "own", "blocks"], "stack"))?;
    for row in found.stacks.iter().take(limit) {
        let stack = style.paint(Role::Function, stack_line(loaded, row.node, style, WIDTH));
        writeln!(out, "{}{stack}", numbers(row.retained, row.own, found.reachable, style))?;
        holders(out, loaded, row, names, style)?;
    }
    rest(out, style, found.stacks.len().saturating_sub(limit), "more stack")
}

/// What keeps the blocks of a stack, with how much where there is more than one.
fn holders(
    out: &mut dyn Write,
    loaded: &Loaded,
    row: &RetainedRow,
    names: &[String],
    style: &Style,
) -> io::Result<()> {
    for (holder, amount) in &row.holders {
        let kept = match row.holders.len() {
            1 => "kept by ".to_owned(),
            _ => format!("{} kept by ", bytes(amount.bytes)),
        };
        let name = name(loaded, *holder, names, style, WIDTH + kept.len());
        writeln!(out, "{:WIDTH$}{}", "", style.paint(Role::Detail, format!("{kept}{name}")))?;
    }
    if row.more_holders > 0 {
        let named = row.holders.iter().fold(row.retained, |left, (_, amount)| left - *amount);
        let text = format!("{} kept by {}", bytes(named.bytes), counted(row.more_holders as u64, "other"));
        writeln!(out, "{:WIDTH$}{}", "", style.paint(Role::Detail, text))?;
    }
    Ok(())
}

fn by_root(
    out: &mut dyn Write,
    found: &Retained,
    names: &[String],
    limit: usize,
    style: &Style,
) -> io::Result<()> {
    heading(out, style, "By root")?;
    header(out, style, &titles(["retained", "share", "refers to", "blocks"], "root"))?;
    for row in found.roots.iter().take(limit) {
        let name = name_of_root(row.root, names, style, WIDTH);
        let name = style.paint(Role::Function, name);
        writeln!(out, "{}{name}", numbers(row.retained, row.direct, found.reachable, style))?;
    }
    if !found.several.is_zero() {
        writeln!(out, "{}", numbers_of_several(found, style))?;
    }
    rest(out, style, found.roots.len().saturating_sub(limit), "more root")
}

/// The row of what no root keeps alone: it refers to nothing by itself.
fn numbers_of_several(found: &Retained, style: &Style) -> String {
    let numbers = numbers(found.several, Amount::ZERO, found.reachable, style);
    format!("{numbers}{}", style.paint(Role::Detail, SEVERAL))
}

fn unreachable(
    out: &mut dyn Write,
    loaded: &Loaded,
    unreachable: &Unreachable,
    limit: usize,
    style: &Style,
) -> io::Result<()> {
    if unreachable.total.is_zero() {
        return writeln!(out, "\nEvery block can be reached.");
    }
    heading(out, style, "Unreachable")?;
    let explained =
        "each with what it alone leads to: a program that freed these as it frees others would free all";
    writeln!(out, "  {}", style.paint(Role::Detail, explained))?;
    header(out, style, &titles(["in all", "share", "own", "blocks"], "stack"))?;
    for row in unreachable.stacks.iter().take(limit) {
        let stack = style.paint(Role::Function, stack_line(loaded, row.node, style, WIDTH));
        writeln!(out, "{}{stack}", numbers(row.claimed, row.heads, unreachable.total, style))?;
        if row.cycles > 0 {
            let text = format!("{} of these in a cycle of blocks that hold each other", count(row.cycles));
            writeln!(out, "{:WIDTH$}{}", "", style.paint(Role::Detail, text))?;
        }
    }
    rest(out, style, unreachable.stacks.len().saturating_sub(limit), "more stack")
}

/// What is said of blocks that no single root keeps.
const SEVERAL: &str = "several roots";

/// Who keeps, cut to the columns that are left.
pub(super) fn name(loaded: &Loaded, holder: Holder, names: &[String], style: &Style, used: usize) -> String {
    match holder {
        Holder::Root(root) => name_of_root(root, names, style, used),
        Holder::Several => SEVERAL.to_owned(),
        Holder::Stack(node) => stack_line(loaded, node, style, used),
    }
}

fn name_of_root(root: RootId, names: &[String], style: &Style, used: usize) -> String {
    fit(&escape(&root_name(names, root)), style.room(used)).into_owned()
}

/// The line over the numbers.
pub(super) fn titles([first, share, second, blocks]: [&str; 4], name: &str) -> String {
    format!("{first:>12}  {share:>7}  {second:>11}  {blocks:>10}  {name}")
}

/// `       120 B   88.9 %        100 B           1  `: what is retained, its share, and blocks of one's own.
pub(super) fn numbers(retained: Amount, own: Amount, whole: Amount, style: &Style) -> String {
    let first = style.paint(Role::Value, format!("{:>12}", bytes(retained.bytes)));
    let share = percent(retained.bytes, whole.bytes);
    format!("{first}  {share:>7}  {:>11}  {:>10}  ", bytes(own.bytes), count(own.blocks))
}
