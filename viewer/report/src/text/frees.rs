//! `frees`: which stacks free the blocks of which others.

use super::headline::headline;
use super::place::fit_name;
use super::stack_line::{header, rest, rest_by, stack_line};
use super::style::{Role, Style};
use analysis::format::{bytes, count, counted, percent};
use analysis::lifetimes::{BlockStats, Endpoint, FreesRow, Side};
use analysis::{Amount, LabelId, Metric};
use engine::Loaded;
use std::io::{self, Write};

/// Most others that are named below a row.
const OTHERS: usize = 5;
/// Width of the numbers before a stack.
const WIDTH: usize = 46;

/// Writes at most `limit` stacks of one side, each with those that free its blocks, or whose blocks it frees.
///
/// # Errors
/// Those of the writer.
pub fn frees(
    out: &mut dyn Write,
    loaded: &Loaded,
    rows: &[FreesRow],
    side: Side,
    limit: usize,
    style: &Style,
) -> io::Result<()> {
    let line = |stack, used| stack_line(loaded, stack, style, used);
    let written = Written { loaded, style, noun: "more stack", line: &line };
    written.rows(out, rows, side, limit)
}

/// The same for functions.
///
/// # Errors
/// Those of the writer.
pub fn frees_of_functions(
    out: &mut dyn Write,
    loaded: &Loaded,
    rows: &[FreesRow<LabelId>],
    side: Side,
    limit: usize,
    style: &Style,
) -> io::Result<()> {
    let line = |label, used| match label {
        LabelId::EVERYTHING => "[no stack]".to_owned(),
        label => fit_name(&loaded.names, label, style.room(used)),
    };
    let written = Written { loaded, style, noun: "more function", line: &line };
    written.rows(out, rows, side, limit)
}

/// How rows are written.
struct Written<'a, S> {
    loaded: &'a Loaded,
    style: &'a Style,
    noun: &'static str,
    /// Formats what stands for a stack; the number is the columns used before it.
    line: &'a dyn Fn(S, usize) -> String,
}

impl<S: Copy> Written<'_, S> {
    fn rows(&self, out: &mut dyn Write, rows: &[FreesRow<S>], side: Side, limit: usize) -> io::Result<()> {
        let style = self.style;
        headline(out, self.loaded, Metric::Bytes, style)?;
        for line in explained(rows, side) {
            writeln!(out, "  {}", style.paint(Role::Detail, line))?;
        }
        let of = match side {
            Side::Allocations => "allocated by",
            Side::Frees => "freed by",
        };
        writeln!(out)?;
        header(out, style, &format!("{}  {of}", titles()))?;
        for row in rows.iter().take(limit) {
            let who = match row.endpoint.stack() {
                Some(stack) => (self.line)(stack, WIDTH),
                None => what_it_does(row.endpoint).to_owned(),
            };
            writeln!(out, "{}  {}", numbers(&row.sum, style), style.paint(Role::Function, who))?;
            self.others(out, row)?;
        }
        rest(out, style, rows.len().saturating_sub(limit), self.noun)
    }

    /// The other sides that a row shares blocks with.
    fn others(&self, out: &mut dyn Write, row: &FreesRow<S>) -> io::Result<()> {
        let style = self.style;
        for (other, stats) in row.with.iter().take(OTHERS) {
            let what = said(*other, WIDTH + 2, self.line);
            writeln!(out, "{}    {}", numbers(stats, style), style.paint(Role::Detail, what))?;
        }
        let more = &row.with[row.with.len().min(OTHERS)..];
        if more.is_empty() {
            return Ok(());
        }
        let sum = more.iter().fold(Amount::ZERO, |sum, (_, stats)| sum + stats.blocks);
        let text = format!("{}, {} (--json)", counted(more.len() as u64, self.noun), bytes(sum.bytes));
        writeln!(out, "{:WIDTH$}    {}", "", style.paint(Role::Detail, text))
    }
}

/// Writes what became of blocks, or who allocated them, at most `limit` rows; nothing if there is none.
pub(super) fn endpoints(
    out: &mut dyn Write,
    loaded: &Loaded,
    endpoints: &[(Endpoint, BlockStats)],
    title: &str,
    limit: usize,
    style: &Style,
) -> io::Result<()> {
    if endpoints.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    header(out, style, &format!("{}  {title}", titles()))?;
    for (other, stats) in endpoints.iter().take(limit) {
        let what = what_became(loaded, *other, style, WIDTH);
        writeln!(out, "{}  {}", numbers(stats, style), style.paint(Role::Function, what))?;
    }
    rest_by(out, style, endpoints.len().saturating_sub(limit), "more stack", "")
}

fn titles() -> String {
    ["bytes", "blocks", "by others", "lifetime"].map(|title| format!("{title:>10}")).join("  ")
}

/// `freed by close (io.c:12) < main`, in the remaining columns.
pub fn what_became(loaded: &Loaded, other: Endpoint, style: &Style, used: usize) -> String {
    said(other, used, &|stack, used| stack_line(loaded, stack, style, used))
}

fn said<S: Copy>(endpoint: Endpoint<S>, used: usize, line: &dyn Fn(S, usize) -> String) -> String {
    let before = what_it_does(endpoint);
    match endpoint.stack() {
        Some(stack) => format!("{before}{}", line(stack, used + before.len())),
        None => before.to_owned(),
    }
}

/// What an endpoint did, in words; precedes its stack if it has one.
fn what_it_does<S>(endpoint: Endpoint<S>) -> &'static str {
    match endpoint {
        Endpoint::Allocated(_) => "allocated by ",
        Endpoint::Freed(_) => "freed by ",
        Endpoint::Resized(_) => "resized by ",
        Endpoint::ToNothing => "freed by realloc to size 0",
        Endpoint::Unseen => "freed without a record",
        Endpoint::Left => "never freed",
    }
}

/// What became of all blocks, and what the columns mean.
fn explained<S: Copy>(rows: &[FreesRow<S>], side: Side) -> Vec<String> {
    let sum = |of: &dyn Fn(Endpoint<S>) -> bool| {
        let with = rows
            .iter()
            .flat_map(|row| row.with.iter().map(move |(other, stats)| (row.endpoint, other, stats)));
        let these =
            with.filter(|(endpoint, other, _)| of(if side == Side::Frees { *endpoint } else { **other }));
        these.fold(BlockStats::default(), |mut sum, (.., stats)| {
            sum.add(stats);
            sum
        })
    };
    let told = |stats: &BlockStats| {
        format!("{} in {}", bytes(stats.blocks.bytes), counted(stats.blocks.blocks, "block"))
    };
    let freed = sum(&|endpoint| matches!(endpoint, Endpoint::Freed(_) | Endpoint::ToNothing));
    let by_others = match by_others(&freed) {
        none if none.is_empty() => none,
        share => {
            format!(", {share} by others (not the thread that allocated)")
        }
    };
    let mut lines = vec![format!("freed: {}{by_others}", told(&freed))];
    for (what, stats) in [
        (
            "resized by realloc, which counts as a new block",
            sum(&|endpoint| matches!(endpoint, Endpoint::Resized(_))),
        ),
        ("freed without a record", sum(&|endpoint| matches!(endpoint, Endpoint::Unseen))),
        ("never freed", sum(&|endpoint| matches!(endpoint, Endpoint::Left))),
    ] {
        if !stats.blocks.is_zero() {
            lines.push(format!("{what}: {}", told(&stats)));
        }
    }
    lines.push("lifetime: median of the freed blocks".to_owned());
    lines
}

/// `  4.00 KiB         100     100 %    < 1 ms`.
fn numbers(stats: &BlockStats, style: &Style) -> String {
    let size = style.paint(Role::Value, format!("{:>10}", bytes(stats.blocks.bytes)));
    let lifetime = stats.median().map_or(String::new(), |age| age.to_string());
    format!("{size}  {:>10}  {:>10}  {lifetime:>10}", count(stats.blocks.blocks), by_others(stats))
}

/// The share of what was freed by another thread; empty if there is none.
pub fn by_others(stats: &BlockStats) -> String {
    match stats.by_others.blocks {
        0 => String::new(),
        blocks => percent(blocks, stats.ended().blocks),
    }
}
