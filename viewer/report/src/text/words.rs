//! Values in words: the only place where the numbers of a document become text for people.

use super::escape::{columns, escape, fit};
use super::place::fit_name;
use super::stack_line::stack;
use crate::table::Value;
use analysis::format::{bytes, count, counted, duration, percent};
use analysis::{LabelId, process_name};
use capture::{ProcessId, ThreadId};
use engine::Loaded;

/// A value for a column of this width; names are cut to it.
pub fn words(loaded: &Loaded, value: &Value, room: usize) -> String {
    let text = match value {
        Value::Empty | Value::Unknown | Value::Ages(_) | Value::List(_) | Value::Record(_) => String::new(),
        Value::Text(text) => escape(text).into_owned(),
        Value::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        Value::Count(number) => count(*number),
        Value::Id(number) => number.to_string(),
        Value::Counted(number, noun) => counted(*number, noun),
        Value::Bytes(size) => size_of(*size),
        Value::Amount(amount) => format!("{} in {}", bytes(amount.bytes), counted(amount.blocks, "block")),
        Value::Share(part, whole) => percent(*part, *whole),
        Value::Factor(factor) => format!("×{factor:.2}"),
        Value::Duration(time) => duration(*time),
        Value::Time(time) => format!("{}.{:09}", time / 1_000_000_000, time % 1_000_000_000),
        Value::Age(age) => age.to_string(),
        Value::Sizes(class) => class.to_string(),
        Value::Address(address) => format!("{address:#x}"),
        Value::Stack(node) | Value::Frames(node) => stack(loaded, *node),
        Value::Function(LabelId::EVERYTHING) => "[no stack]".to_owned(),
        Value::Function(label) => return fit_name(&loaded.names, *label, room),
        Value::Thread(thread) => thread_name(loaded, *thread),
        Value::Process(process) => process_named(loaded, *process),
        Value::Phrase(parts) => parts.iter().fold(String::new(), |text, part| {
            let room = room.saturating_sub(columns(&text));
            text + &words(loaded, part, room)
        }),
    };
    fit(&text, room).into_owned()
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
