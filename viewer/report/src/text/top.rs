//! `top`: a recording while it goes on.
//!
//! The lines of the header and the numbers of rows are also used by the terminal interface, which draws them in its
//! own way.

use super::escape::escape;
use super::place::fit_name;
use super::stack_line::{header, stack_line};
use super::style::{Role, Style};
use analysis::format::{bytes, count, counted, duration};
use engine::live::{By, Change, Function, Order, Reading, Row};
use std::io::{self, Write};

/// Whether a terminal of this width shows fewer numbers per row.
pub fn top_is_narrow(width: usize) -> bool {
    width < 110
}

/// The header of the rows' numbers. There are fewer if `is_narrow`; functions have an additional one, their own part
/// of what rows are sorted by.
pub fn top_columns(is_narrow: bool, by: By) -> String {
    let columns = match is_narrow {
        true => "     held    growth   bytes/s  allocs/s  ",
        false => "     held      step    growth   bytes/s  allocs/s   temp  ",
    };
    let own = if by == By::Stacks { "" } else { "     self  " };
    format!("{columns}{own}")
}

/// What rows stand for, and what they are sorted by.
pub fn top_sorted(by: By, order: Order) -> String {
    match by {
        By::Stacks => format!("stack, sorted by {}", order.name()),
        By::Total => format!("function, by total {}", order.name()),
        By::Own => format!("function, by self {}", order.name()),
    }
}

/// The lines of the header: what the process holds, what it does, and what is unknown.
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
        known.push(format!("estimates, one sample per {}", bytes(interval.cast_signed())));
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

/// The numbers of a row, aligned with [`top_columns`].
pub fn top_numbers(reading: &Reading, change: &Change, is_narrow: bool) -> String {
    let rate = reading.rate(change);
    let temporary = match (change.since.allocated.blocks, change.since.temporary.blocks) {
        (0, _) | (_, 0) => String::new(),
        (all, temporary) => analysis::format::percent(temporary, all),
    };
    let (held, step) = (bytes(change.now.held.bytes), signed(change.step.held.bytes));
    let growth = signed(change.since.held.bytes);
    let (rate, calls) = (bytes(rate.bytes), count(rate.blocks));
    match is_narrow {
        true => format!("{held:>9} {growth:>9} {rate:>9} {calls:>9}  "),
        false => format!("{held:>9} {step:>9} {growth:>9} {rate:>9} {calls:>9} {temporary:>6}  "),
    }
}

/// The numbers of a function, aligned with [`top_columns`].
pub fn top_function_numbers(reading: &Reading, function: &Function, is_narrow: bool) -> String {
    let Function { own, total, .. } = function;
    let rate = reading.rate(own);
    let own = match reading.order {
        Order::Held => bytes(own.now.held.bytes),
        Order::Growth => signed(own.since.held.bytes),
        Order::Rate => bytes(rate.bytes),
        Order::Calls => count(rate.blocks),
    };
    format!("{}{own:>9}  ", top_numbers(reading, total, is_narrow))
}

/// The name of a function, cut to what is left of a line with `used` columns.
pub fn top_function_name(reading: &Reading, function: &Function, style: &Style, used: usize) -> String {
    fit_name(&reading.loaded.names, function.label, style.room(used))
}

/// Writes a reading, for outputs that keep what was written before.
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
    let columns = top_columns(is_narrow, reading.by);
    header(out, style, &format!("{columns}{}", top_sorted(reading.by, reading.order)))?;
    for Row { node, change } in &reading.rows {
        let stack = stack_line(&reading.loaded, *node, style, columns.len());
        let numbers = top_numbers(reading, change, is_narrow);
        writeln!(out, "{}{}", style.paint(Role::Value, numbers), style.paint(Role::Function, stack))?;
    }
    for function in &reading.functions {
        let name = top_function_name(reading, function, style, columns.len());
        let numbers = top_function_numbers(reading, function, is_narrow);
        writeln!(out, "{}{}", style.paint(Role::Value, numbers), style.paint(Role::Function, name))?;
    }
    let rest = match (&reading.hidden, reading.by) {
        ((0, _), _) => return writeln!(out),
        ((rows, hidden), By::Stacks) => {
            format!("{}{}", top_numbers(reading, hidden, is_narrow), counted(*rows as u64, "more stack"))
        }
        // Functions overlap with those above: there is no sum.
        ((rows, _), By::Total | By::Own) => {
            format!("{}{}", " ".repeat(columns.len()), counted(*rows as u64, "more function"))
        }
    };
    writeln!(out, "{}\n", style.paint(Role::Detail, rest))
}

/// A change with its sign; empty if there is none.
fn signed(change: i64) -> String {
    match change {
        0 => "0".to_owned(),
        1.. => format!("+{}", bytes(change)),
        _ => bytes(change),
    }
}
