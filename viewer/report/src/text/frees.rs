//! `frees`: which stacks free the blocks of which others.

use super::headline::headline;
use super::place::fit_name;
use super::stack_line::{header, rest, rest_by, stack_line};
use super::style::{Role, Style};
use analysis::format::{bytes, count, counted, percent};
use analysis::lifetimes::{FreesRow, Parcel, Party, Side};
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
            let who = match row.party.stack() {
                Some(stack) => (self.line)(stack, WIDTH),
                None => what_it_does(row.party).to_owned(),
            };
            writeln!(out, "{}  {}", numbers(&row.sum, style), style.paint(Role::Function, who))?;
            self.others(out, row)?;
        }
        rest(out, style, rows.len().saturating_sub(limit), self.noun)
    }

    /// The other sides that a row shares blocks with.
    fn others(&self, out: &mut dyn Write, row: &FreesRow<S>) -> io::Result<()> {
        let style = self.style;
        for (other, parcel) in row.with.iter().take(OTHERS) {
            let what = said(*other, WIDTH + 2, self.line);
            writeln!(out, "{}    {}", numbers(parcel, style), style.paint(Role::Detail, what))?;
        }
        let more = &row.with[row.with.len().min(OTHERS)..];
        if more.is_empty() {
            return Ok(());
        }
        let sum = more.iter().fold(Amount::ZERO, |sum, (_, parcel)| sum + parcel.blocks);
        let text = format!("{}, {} (--json)", counted(more.len() as u64, self.noun), bytes(sum.bytes));
        writeln!(out, "{:WIDTH$}    {}", "", style.paint(Role::Detail, text))
    }
}

/// Writes what became of blocks, or who allocated them, at most `limit` rows; nothing if there is none.
pub(super) fn parties(
    out: &mut dyn Write,
    loaded: &Loaded,
    parties: &[(Party, Parcel)],
    title: &str,
    limit: usize,
    style: &Style,
) -> io::Result<()> {
    if parties.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    header(out, style, &format!("{}  {title}", titles()))?;
    for (other, parcel) in parties.iter().take(limit) {
        let what = what_became(loaded, *other, style, WIDTH);
        writeln!(out, "{}  {}", numbers(parcel, style), style.paint(Role::Function, what))?;
    }
    rest_by(out, style, parties.len().saturating_sub(limit), "more stack", "")
}

fn titles() -> String {
    ["bytes", "blocks", "by others", "lifetime"].map(|title| format!("{title:>10}")).join("  ")
}

/// `freed by close (io.c:12) < main`, in the remaining columns.
pub fn what_became(loaded: &Loaded, other: Party, style: &Style, used: usize) -> String {
    said(other, used, &|stack, used| stack_line(loaded, stack, style, used))
}

fn said<S: Copy>(party: Party<S>, used: usize, line: &dyn Fn(S, usize) -> String) -> String {
    let before = what_it_does(party);
    match party.stack() {
        Some(stack) => format!("{before}{}", line(stack, used + before.len())),
        None => before.to_owned(),
    }
}

/// What a party did, in words; precedes its stack if it has one.
fn what_it_does<S>(party: Party<S>) -> &'static str {
    match party {
        Party::Allocated(_) => "allocated by ",
        Party::Freed(_) => "freed by ",
        Party::Resized(_) => "resized by ",
        Party::ToNothing => "freed by realloc to size 0",
        Party::Unseen => "freed without a record",
        Party::Left => "never freed",
    }
}

/// What became of all blocks, and what the columns mean.
fn explained<S: Copy>(rows: &[FreesRow<S>], side: Side) -> Vec<String> {
    let sum = |of: &dyn Fn(Party<S>) -> bool| {
        let with = rows
            .iter()
            .flat_map(|row| row.with.iter().map(move |(other, parcel)| (row.party, other, parcel)));
        let these = with.filter(|(party, other, _)| of(if side == Side::Frees { *party } else { **other }));
        these.fold(Parcel::default(), |mut sum, (.., parcel)| {
            sum.add(parcel);
            sum
        })
    };
    let told = |parcel: &Parcel| {
        format!("{} in {}", bytes(parcel.blocks.bytes), counted(parcel.blocks.blocks, "block"))
    };
    let freed = sum(&|party| matches!(party, Party::Freed(_) | Party::ToNothing));
    let by_others = match by_others(&freed) {
        none if none.is_empty() => none,
        share => {
            format!(", {share} by others (not the thread that allocated)")
        }
    };
    let mut lines = vec![format!("freed: {}{by_others}", told(&freed))];
    for (what, parcel) in [
        ("resized by realloc, which counts as a new block", sum(&|party| matches!(party, Party::Resized(_)))),
        ("freed without a record", sum(&|party| matches!(party, Party::Unseen))),
        ("never freed", sum(&|party| matches!(party, Party::Left))),
    ] {
        if !parcel.blocks.is_zero() {
            lines.push(format!("{what}: {}", told(&parcel)));
        }
    }
    lines.push("lifetime: median of the freed blocks".to_owned());
    lines
}

/// `  4.00 KiB         100     100 %    < 1 ms`.
fn numbers(parcel: &Parcel, style: &Style) -> String {
    let size = style.paint(Role::Value, format!("{:>10}", bytes(parcel.blocks.bytes)));
    let lifetime = parcel.median().map_or(String::new(), |age| age.to_string());
    format!("{size}  {:>10}  {:>10}  {lifetime:>10}", count(parcel.blocks.blocks), by_others(parcel))
}

/// The share of what was freed by another thread; empty if there is none.
pub fn by_others(parcel: &Parcel) -> String {
    match parcel.by_others.blocks {
        0 => String::new(),
        blocks => percent(blocks, parcel.ended().blocks),
    }
}
