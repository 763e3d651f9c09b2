//! `top --json`: a recording while it goes on, one document per line.

use super::document::{Fields, kind};
use crate::table::{self, Value};
use analysis::call_of;
use engine::live::{By, Change, Function, Reading, Row};
use std::io::{self, Write};

/// Writes a reading as one line.
///
/// # Errors
/// Those of the writer.
pub fn top(out: &mut dyn Write, reading: &Reading) -> io::Result<()> {
    let row = |row: &Row| {
        let call = call_of(&reading.loaded.tables, row.node).into();
        let mut fields = vec![("stack", Value::Stack(row.node)), ("call", call)];
        fields.extend(numbers(reading, &row.change));
        Value::Record(fields)
    };
    let function = |function: &Function| {
        let [total, own] =
            [&function.total, &function.own].map(|change| Value::Record(numbers(reading, change)));
        Value::Record(vec![("", Value::Who(function.label)), ("total", total), ("self", own)])
    };
    let number = |number: Option<u64>| Value::known(number.map(Value::Id));
    let mut fields = kind("top");
    fields.extend([
        ("pid", Value::count(reading.pid)),
        ("process", Value::name(&reading.process)),
        ("time_ns", Value::Time(reading.time_ns)),
        ("step_ns", Value::Duration(reading.step_ns)),
        ("since_ns", Value::Duration(reading.since_ns)),
        ("ended", Value::Flag(reading.is_over)),
        ("by", reading.order.name().into()),
        ("functions_by", Value::known(reading.by.name())),
        ("sample_interval", number(reading.sample_interval)),
        ("rss_bytes", number(reading.rss)),
        ("threads", number(reading.threads)),
        ("lost_events", Value::count(reading.lost)),
        ("unknown_frees", Value::count(reading.unknown_frees)),
        ("total", Value::Record(numbers(reading, &reading.total))),
    ]);
    let (hidden, change) = &reading.hidden;
    let hidden = ("rows", Value::count(*hidden as u64));
    fields.extend(match reading.by {
        By::Stacks => {
            let hidden = std::iter::once(hidden).chain(numbers(reading, change)).collect();
            [("rows", Value::List(reading.rows.iter().map(row).collect())), ("hidden", Value::Record(hidden))]
        }
        By::Total | By::Own => [
            ("functions", Value::List(reading.functions.iter().map(function).collect())),
            ("hidden_functions", hidden.1),
        ],
    });
    serde_json::to_writer(&mut *out, &Fields { loaded: &reading.loaded, fields })?;
    writeln!(out)
}

fn numbers(reading: &Reading, change: &Change) -> table::Fields {
    let Change { now, step, since } = change;
    let rate = reading.rate(change);
    let numbers = [
        ("held_blocks", now.held.blocks),
        ("held_bytes", now.held.bytes),
        ("step_blocks", step.held.blocks),
        ("step_bytes", step.held.bytes),
        ("growth_blocks", since.held.blocks),
        ("growth_bytes", since.held.bytes),
        ("allocations", since.allocated.blocks),
        ("bytes", since.allocated.bytes),
        ("frees", since.freed.blocks),
        ("freed_bytes", since.freed.bytes),
        ("temporary", since.temporary.blocks),
        ("temporary_bytes", since.temporary.bytes),
        ("allocations_per_second", rate.blocks),
        ("bytes_per_second", rate.bytes),
        ("frees_per_second", reading.per_second(step.freed.blocks)),
        ("freed_bytes_per_second", reading.per_second(step.freed.bytes)),
    ];
    numbers.map(|(name, number)| (name, Value::count(number))).into()
}
