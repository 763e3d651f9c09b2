//! Values in words: the only place where the numbers of a document become text for people.

use super::cpu::cpu;
use super::escape::{columns, escape, fit};
use super::estimate;
use super::place::{fit_name, place_of};
use super::stack_line::{not_shown, stack, stack_to};
use crate::table::Value;
use analysis::format::{bytes, count, counted, duration, listed, percent};
use analysis::{LabelId, Spread, process_name};
use capture::{ProcessId, ThreadId};
use engine::Loaded;

/// A value for a column of this width; names are cut to it.
pub fn words(loaded: &Loaded, value: &Value, room: usize) -> String {
    let text = match value {
        Value::Empty | Value::Unknown | Value::Ages(_) | Value::List(_) | Value::Record(_) => String::new(),
        Value::Costs(_) | Value::Errors(_) | Value::Texts(_) => String::new(),
        Value::Text(text) => escape(text).into_owned(),
        Value::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        Value::Count(number) => count(*number),
        Value::Id(number) => number.to_string(),
        Value::Counted(number, noun) => counted(*number, noun),
        Value::Bytes(size) => size_of(*size),
        Value::Amount(amount) => estimate::held(*amount, Spread::ZERO),
        Value::Estimate(amount, spread) => estimate::held(*amount, *spread),
        Value::About(number, error) => about(loaded, number, *error),
        Value::Marked(number) => format!("≈{}", words(loaded, number, room)),
        Value::Error(error, number) => estimate::relative(*error, *number),
        Value::Change(number) => match (&**number, value.has_grown()) {
            (Value::Cpu(weight @ ..0), _) => format!("-{}", cpu(loaded, weight.saturating_neg())),
            (number, true) => format!("+{}", words(loaded, number, room)),
            (number, false) => words(loaded, number, room),
        },
        Value::Cpu(weight) => cpu(loaded, *weight),
        Value::Share(part, whole) => percent(*part, *whole),
        Value::Bar(part, whole) => bar(*part, *whole),
        Value::Factor(factor) => format!("×{factor:.2}"),
        Value::Duration(time) => duration(*time),
        Value::Time(time) => format!("{}.{:09}", time / 1_000_000_000, time % 1_000_000_000),
        Value::Age(age) => age.to_string(),
        Value::Sizes(class) => class.to_string(),
        Value::Address(address) => format!("{address:#x}"),
        Value::Stack(node) | Value::Frames(node) => stack(loaded, *node),
        Value::Innermost(node, depth) => stack_to(*depth, loaded, *node),
        Value::Function(LabelId::EVERYTHING) => "[no stack]".to_owned(),
        Value::Function(label) | Value::Who(label) => return fit_name(&loaded.names, *label, room),
        Value::Place(file, line) => {
            place_of(loaded, *file, *line).unwrap_or_else(|| "[unknown line]".to_owned())
        }
        Value::Listed(names, most) => escape(&listed(names, *most)).into_owned(),
        Value::Rest(number, noun, option) => not_shown(*number, noun, option),
        Value::Thread(thread) => thread_name(loaded, *thread),
        Value::Process(process) => process_named(loaded, *process),
        Value::Phrase(parts) => parts.iter().fold(String::new(), |text, part| {
            let room = room.saturating_sub(columns(&text));
            text + &words(loaded, part, room)
        }),
    };
    fit(&text, room).into_owned()
}

/// A bar whose length says how large the part is.
fn bar(part: i64, whole: i64) -> String {
    /// Length of the whole.
    const BAR: i64 = 24;
    "█".repeat(part.saturating_mul(BAR).div_euclid(whole.max(1)).clamp(0, BAR) as usize)
}

/// A number with its standard error. With an error, a number of things is never exactly one.
fn about(loaded: &Loaded, number: &Value, error: i64) -> String {
    let text = |value: &Value| words(loaded, value, usize::MAX);
    match number {
        Value::Counted(things, noun) => format!("≈{} ± {} {noun}s", count(*things), count(error)),
        Value::Change(size) if matches!(**size, Value::Bytes(_)) => {
            format!("≈{} ± {}", text(number), bytes(error))
        }
        Value::Bytes(_) => format!("≈{} ± {}", text(number), bytes(error)),
        _ => format!("≈{} ± {}", text(number), count(error)),
    }
}

/// A size, which may be a mistake: a negative number that a program passed as one.
fn size_of(size: i128) -> String {
    match i64::try_from(size) {
        Ok(size) => bytes(size),
        // The result of subtracting a larger number from a smaller one.
        Err(_) if size > i128::from(i64::MAX) + (1 << 62) => format!("{} B", count(size - (1 << 64))),
        Err(_) => format!("{} B", count(size)),
    }
}

/// `worker (5001)`, with the process if there are several.
fn thread_name(loaded: &Loaded, thread: ThreadId) -> String {
    let Some(row) = loaded.tables.threads.get(thread.index()) else { return "?".to_owned() };
    let process = loaded.tables.processes.get(row.process.index());
    let of = process.filter(|_| loaded.tables.processes.len() > 1);
    let of = of.map_or(String::new(), |process| format!(" of {}", process_name(process)));
    let name = if row.name.is_empty() { "thread" } else { &row.name };
    escape(&format!("{name} ({}{of})", row.tid)).into_owned()
}

/// `app (5000)`.
fn process_named(loaded: &Loaded, process: ProcessId) -> String {
    let row = loaded.tables.processes.get(process.index());
    row.map_or("?".to_owned(), |row| escape(&format!("{} ({})", process_name(row), row.pid)).into_owned())
}
