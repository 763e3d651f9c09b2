//! `retained`: what stacks, roots and classes keep alive, and what has become unreachable.
//!
//! ```text
//!    retained    share          own      blocks  stack
//!       120 B   88.9 %        100 B           1  insert (cache.c:12) < main
//!                                                kept by cache
//!        35 B   25.9 %         30 B           3  push (list.c:7) < main
//!                                                20 B kept by insert (cache.c:12) < main
//!                                                15 B kept by several roots
//! ```

use super::escape::escape;
use super::headline::warnings;
use super::holder::{
    LED_TO, SEVERAL, UNREACHABLE, class_name, cycles, holder_name, kept_by, led_to, unreachable_too,
};
use super::scan_head::ScanHead;
use super::stack_line::{header, heading, rest, stack_line};
use super::style::{Role, Style};
use analysis::Amount;
use analysis::format::{bytes, count, percent};
use engine::Loaded;
use heap_graph::{ClassRow, Holder, Retained, RetainedRow, Scanned, Several, Unreachable};
use std::io::{self, Write};

/// Width of the numbers before a name.
pub(super) const WIDTH: usize = 48;

/// Writes the stacks that retain most, each with what keeps it, then roots, classes, and stacks of unreachable
/// blocks: at most `limit` of each.
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
    let Scanned { graph, roots: names, classes, .. } = scanned;
    let found = graph.retained();
    by_stack(out, loaded, &found, names, limit, style)?;
    by_root(out, loaded, &found, &graph.several(), names, limit, style)?;
    by_class(out, loaded, &classes.rows(graph), found.reachable, limit, style)?;
    unreachable(out, loaded, &graph.unreachable(), limit, style)
}

/// Describes the graph, up to the line that explains its numbers.
pub(super) fn head(out: &mut dyn Write, loaded: &Loaded, scanned: &Scanned, style: &Style) -> io::Result<()> {
    let ScanHead { held, warnings: missing, explained } = ScanHead::new(loaded, scanned);
    let text = format!("{} at {held}", escape(&loaded.source.file));
    writeln!(out, "{}", style.paint(Role::Heading, text))?;
    warnings(out, loaded, style)?;
    for text in missing {
        writeln!(out, "{}", style.paint(Role::Warning, format!("warning: {text}")))?;
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

fn holders(
    out: &mut dyn Write,
    loaded: &Loaded,
    row: &RetainedRow,
    names: &[String],
    style: &Style,
) -> io::Result<()> {
    details(out, kept_by(loaded, row, names, style, WIDTH).iter().map(String::as_str), style)
}

/// Detail lines below a row.
fn details<'a>(
    out: &mut dyn Write,
    mut lines: impl Iterator<Item = &'a str>,
    style: &Style,
) -> io::Result<()> {
    lines.try_for_each(|text| writeln!(out, "{:WIDTH$}{}", "", style.paint(Role::Detail, text)))
}

fn by_root(
    out: &mut dyn Write,
    loaded: &Loaded,
    found: &Retained,
    several: &Several,
    names: &[String],
    limit: usize,
    style: &Style,
) -> io::Result<()> {
    heading(out, style, "By root")?;
    header(out, style, &titles(["retained", "share", "refers to", "blocks"], "root"))?;
    for row in found.roots.iter().take(limit) {
        let name = holder_name(loaded, Holder::Root(row.root), names, style, WIDTH);
        let name = style.paint(Role::Function, name);
        writeln!(out, "{}{name}", numbers(row.retained, row.direct, found.reachable, style))?;
    }
    if !found.several.is_zero() {
        writeln!(out, "{}", numbers_of_several(found, style))?;
        let roots = led_to(several, names, style, WIDTH);
        let lines = std::iter::once(LED_TO).chain(roots.iter().map(String::as_str));
        details(out, lines, style)?;
    }
    rest(out, style, found.roots.len().saturating_sub(limit), "more root")
}

fn by_class(
    out: &mut dyn Write,
    loaded: &Loaded,
    rows: &[ClassRow],
    reachable: Amount,
    limit: usize,
    style: &Style,
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    heading(out, style, "By class")?;
    header(out, style, &titles(["retained", "share", "own", "blocks"], "class"))?;
    for row in rows.iter().take(limit) {
        let name = style.paint(Role::Function, class_name(loaded, row, style, WIDTH));
        writeln!(out, "{}{name}", numbers(row.retained, row.own, reachable, style))?;
        details(out, unreachable_too(row).iter().map(String::as_str), style)?;
    }
    rest(out, style, rows.len().saturating_sub(limit), "more class")
}

/// The row of what no single root keeps, which refers to nothing itself.
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
        return writeln!(out, "\nAll blocks are reachable.");
    }
    heading(out, style, "Unreachable")?;
    writeln!(out, "  {}", style.paint(Role::Detail, UNREACHABLE))?;
    header(out, style, &titles(["total", "share", "own", "blocks"], "stack"))?;
    for row in unreachable.stacks.iter().take(limit) {
        let stack = style.paint(Role::Function, stack_line(loaded, row.node, style, WIDTH));
        writeln!(out, "{}{stack}", numbers(row.claimed, row.heads, unreachable.total, style))?;
        if let Some(text) = cycles(row) {
            writeln!(out, "{:WIDTH$}{}", "", style.paint(Role::Detail, text))?;
        }
    }
    rest(out, style, unreachable.stacks.len().saturating_sub(limit), "more stack")
}

/// The header of the numbers.
pub(super) fn titles([first, share, second, blocks]: [&str; 4], name: &str) -> String {
    format!("{first:>12}  {share:>7}  {second:>11}  {blocks:>10}  {name}")
}

/// `       120 B   88.9 %        100 B           1  `: retained bytes, their share, and the row's own blocks.
pub(super) fn numbers(retained: Amount, own: Amount, whole: Amount, style: &Style) -> String {
    let first = style.paint(Role::Value, format!("{:>12}", bytes(retained.bytes)));
    let share = percent(retained.bytes, whole.bytes);
    format!("{first}  {share:>7}  {:>11}  {:>10}  ", bytes(own.bytes), count(own.blocks))
}
