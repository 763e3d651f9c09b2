//! `top`: a recording while it goes on.
//!
//! The header's lines and the rows' numbers are made here for the terminal, too, which draws them in its own way.

use super::escape::escape;
use super::stack_line::{header, stack_line};
use super::style::{Role, Style};
use crate::format::{bytes, count, counted, duration};
use crate::live::{Change, Reading, Row};
use std::io::{self, Write};

/// Whether rows have fewer numbers in so many columns of a terminal.
pub fn top_is_narrow(width: usize) -> bool {
    width < 110
}

/// The line over the rows' numbers. Where it `is_narrow`, there are fewer.
pub fn top_columns(is_narrow: bool) -> &'static str {
    match is_narrow {
        true => "     held    growth   bytes/s  allocs/s  ",
        false => "     held      step    growth   bytes/s  allocs/s   temp  ",
    }
}

/// The lines of the header: what the process holds, what it does, and what is not known.
pub fn top_header(reading: &Reading) -> [String; 3] {
    let Change { now, step, since } = &reading.total;
    let name = if reading.process.is_empty() { "nothing recorded yet" } else { &reading.process };
    let rss = reading.rss.map(|rss| format!(", RSS {}", bytes(rss.cast_signed())));
    let threads = reading.threads.map(|threads| format!(", {}", counted(threads, "thread")));
    let state = if reading.is_over { "ended after" } else { "for" };
    let rate = reading.rate(&reading.total);
    let mut known = vec![match reading.lost {
        0 => "nothing lost".to_owned(),
        lost => format!("LOST {}", counted(lost, "event")),
    }];
    if reading.unknown_frees > 0 {
        known.push(counted(reading.unknown_frees, "unknown free"));
    }
    if let Some(interval) = reading.sample_interval {
        known.push(format!("estimates, one sample in {}", bytes(interval.cast_signed())));
    }
    [
        format!(
            "{} ({}) {state} {}{}{}",
            escape(name),
            reading.pid,
            duration(reading.time_ns),
            rss.unwrap_or_default(),
            threads.unwrap_or_default()
        ),
        format!(
            "held {} in {}; step {}, growth {} in {}",
            bytes(now.held.bytes),
            counted(now.held.blocks, "block"),
            signed(step.held.bytes),
            signed(since.held.bytes),
            duration(reading.since_ns)
        ),
        format!(
            "{}; {} allocations/s, {}/s, {} frees/s",
            known.join(", "),
            count(rate.blocks),
            bytes(rate.bytes),
            count(reading.per_second(step.freed.blocks))
        ),
    ]
}

/// The numbers of a row, as wide as [`top_columns`].
pub fn top_numbers(reading: &Reading, change: &Change, is_narrow: bool) -> String {
    let rate = reading.rate(change);
    let temporary = match (change.since.allocated.blocks, change.since.temporary.blocks) {
        (0, _) | (_, 0) => String::new(),
        (all, temporary) => crate::format::percent(temporary, all),
    };
    let (held, step) = (bytes(change.now.held.bytes), signed(change.step.held.bytes));
    let growth = signed(change.since.held.bytes);
    let (rate, calls) = (bytes(rate.bytes), count(rate.blocks));
    match is_narrow {
        true => format!("{held:>9} {growth:>9} {rate:>9} {calls:>9}  "),
        false => format!("{held:>9} {step:>9} {growth:>9} {rate:>9} {calls:>9} {temporary:>6}  "),
    }
}

/// Writes a reading, for places that keep what was written before.
///
/// # Errors
/// Those of the writer.
pub fn top(out: &mut dyn Write, reading: &Reading, style: &Style) -> io::Result<()> {
    let [first, second, third] = top_header(reading);
    writeln!(out, "{}", style.paint(Role::Heading, first))?;
    writeln!(out, "{second}")?;
    let role = if reading.lost > 0 { Role::Warning } else { Role::Detail };
    writeln!(out, "{}", style.paint(role, third))?;
    let is_narrow = style.width.is_some_and(top_is_narrow);
    let columns = top_columns(is_narrow);
    header(out, style, &format!("{columns}sorted by {}", reading.order.name()))?;
    for Row { node, change } in &reading.rows {
        let stack = stack_line(&reading.loaded, *node, style, columns.len());
        let numbers = top_numbers(reading, change, is_narrow);
        writeln!(out, "{}{}", style.paint(Role::Value, numbers), style.paint(Role::Function, stack))?;
    }
    let (rows, hidden) = &reading.hidden;
    if *rows > 0 {
        let rest =
            format!("{}{}", top_numbers(reading, hidden, is_narrow), counted(*rows as u64, "more stack"));
        writeln!(out, "{}", style.paint(Role::Detail, rest))?;
    }
    writeln!(out)
}

/// A change with its sign; nothing where there is none.
fn signed(change: i64) -> String {
    match change {
        0 => "0".to_owned(),
        1.. => format!("+{}", bytes(change)),
        _ => bytes(change),
    }
}
