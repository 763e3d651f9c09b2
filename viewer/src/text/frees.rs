//! `frees`: who frees whose blocks.

use super::headline::headline;
use super::stack_line::{header, rest, rest_by, stack_line};
use super::style::{Role, Style};
use crate::analysis::{Amount, Metric};
use crate::format::{bytes, count, counted, percent};
use crate::lives::{FreesRow, Parcel, Party, Side};
use crate::loaded::Loaded;
use std::io::{self, Write};

/// Others that are named below a row.
const OTHERS: usize = 5;
/// Columns of the numbers before a stack.
const WIDTH: usize = 46;

/// Writes the stacks of a side, at most `limit`, each with those that free its blocks, or whose blocks it frees.
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
    headline(out, loaded, Metric::Bytes, style)?;
    for line in explained(rows, side) {
        writeln!(out, "  {}", style.paint(Role::Detail, line))?;
    }
    writeln!(out)?;
    let of = match side {
        Side::Allocations => "allocated by",
        Side::Frees => "freed by",
    };
    header(out, style, &format!("{}  {of}", titles()))?;
    for row in rows.iter().take(limit) {
        let stack = style.paint(Role::Function, party(loaded, row.party, "", style, WIDTH));
        writeln!(out, "{}  {stack}", numbers(&row.sum, style))?;
        for (other, parcel) in row.with.iter().take(OTHERS) {
            let what = party(loaded, *other, what_it_does(*other), style, WIDTH + 2);
            writeln!(out, "{}    {}", numbers(parcel, style), style.paint(Role::Detail, what))?;
        }
        let more = &row.with[row.with.len().min(OTHERS)..];
        if !more.is_empty() {
            let sum = more.iter().fold(Amount::ZERO, |sum, (_, parcel)| sum + parcel.blocks);
            let text =
                format!("{} of {} (--json)", counted(more.len() as u64, "more stack"), bytes(sum.bytes));
            writeln!(out, "{:WIDTH$}    {}", "", style.paint(Role::Detail, text))?;
        }
    }
    rest(out, style, rows.len().saturating_sub(limit), "more stack")
}

/// Writes what became of blocks, or who had allocated them, at most `limit`; nothing where there is none.
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

/// `freed by close (io.c:12) < main`, in the columns that are left.
pub fn what_became(loaded: &Loaded, other: Party, style: &Style, used: usize) -> String {
    party(loaded, other, what_it_does(other), style, used)
}

/// What stands before a stack below a row.
fn what_it_does(party: Party) -> &'static str {
    match party {
        Party::Allocated(_) => "allocated by ",
        Party::Freed(_) => "freed by ",
        Party::Resized(_) => "resized by ",
        Party::Unseen => "freed, which was not recorded",
        Party::Left => "never freed",
    }
}

fn party(loaded: &Loaded, party: Party, before: &str, style: &Style, used: usize) -> String {
    match party {
        Party::Freed(capture::NodeId::ROOT) => format!("{before}realloc to size 0"),
        _ => match party.stack() {
            Some(stack) => format!("{before}{}", stack_line(loaded, stack, style, used + before.len())),
            None => before.to_owned(),
        },
    }
}

/// What became of all of them, and what the columns mean.
fn explained(rows: &[FreesRow], side: Side) -> Vec<String> {
    let sum = |of: &dyn Fn(Party) -> bool| {
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
    let freed = sum(&|party| matches!(party, Party::Freed(_)));
    let by_others = match by_others(&freed) {
        none if none.is_empty() => none,
        share => {
            format!(", {share} of them by others: by another thread than the one that had allocated them")
        }
    };
    let mut lines = vec![format!("freed: {}{by_others}", told(&freed))];
    for (what, parcel) in [
        (
            "resized by realloc, which makes another block of one",
            sum(&|party| matches!(party, Party::Resized(_))),
        ),
        ("freed, which was not recorded", sum(&|party| party == Party::Unseen)),
        ("never freed", sum(&|party| party == Party::Left)),
    ] {
        if !parcel.blocks.is_zero() {
            lines.push(format!("{what}: {}", told(&parcel)));
        }
    }
    lines.push("lifetime: half of those that were freed lived so long at most".to_owned());
    lines
}

/// `  4.00 KiB         100     100 %    < 1 ms`.
fn numbers(parcel: &Parcel, style: &Style) -> String {
    let size = style.paint(Role::Value, format!("{:>10}", bytes(parcel.blocks.bytes)));
    let lifetime = parcel.median().map_or(String::new(), |age| age.to_string());
    format!("{size}  {:>10}  {:>10}  {lifetime:>10}", count(parcel.blocks.blocks), by_others(parcel))
}

/// Which share of what was freed another thread did; nothing where none did.
pub fn by_others(parcel: &Parcel) -> String {
    match parcel.by_others.blocks {
        0 => String::new(),
        blocks => percent(blocks, parcel.ended().blocks),
    }
}
