//! `top --json`: a recording while it goes on, one document per line.

use super::SCHEMA;
use super::stack::{Stack, Who, who};
use analysis::call_of;
use engine::live::{By, Change, Function, Reading, Row};
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    document: &'static str,
    pid: u32,
    process: &'a str,
    time_ns: u64,
    step_ns: u64,
    since_ns: u64,
    ended: bool,
    by: &'static str,
    functions_by: Option<&'static str>,
    sample_interval: Option<u64>,
    rss_bytes: Option<u64>,
    threads: Option<u64>,
    lost_events: u64,
    unknown_frees: u64,
    total: ChangeFields,
    #[serde(flatten)]
    body: Body<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Body<'a> {
    Stacks { rows: Vec<RowFields<'a>>, hidden: Box<HiddenFields> },
    Functions { functions: Vec<FunctionFields<'a>>, hidden_functions: usize },
}

#[derive(Serialize)]
struct FunctionFields<'a> {
    #[serde(flatten)]
    who: Who<'a>,
    total: ChangeFields,
    #[serde(rename = "self")]
    own: ChangeFields,
}

#[derive(Serialize)]
struct RowFields<'a> {
    stack: Stack<'a>,
    call: &'static str,
    #[serde(flatten)]
    change: ChangeFields,
}

#[derive(Serialize)]
struct HiddenFields {
    rows: usize,
    #[serde(flatten)]
    change: ChangeFields,
}

#[derive(Serialize)]
struct ChangeFields {
    held_blocks: i64,
    held_bytes: i64,
    step_blocks: i64,
    step_bytes: i64,
    growth_blocks: i64,
    growth_bytes: i64,
    allocations: i64,
    bytes: i64,
    frees: i64,
    freed_bytes: i64,
    temporary: i64,
    temporary_bytes: i64,
    allocations_per_second: i64,
    bytes_per_second: i64,
    frees_per_second: i64,
    freed_bytes_per_second: i64,
}

impl ChangeFields {
    fn new(reading: &Reading, change: &Change) -> Self {
        let Change { now, step, since } = change;
        let rate = reading.rate(change);
        Self {
            held_blocks: now.held.blocks,
            held_bytes: now.held.bytes,
            step_blocks: step.held.blocks,
            step_bytes: step.held.bytes,
            growth_blocks: since.held.blocks,
            growth_bytes: since.held.bytes,
            allocations: since.allocated.blocks,
            bytes: since.allocated.bytes,
            frees: since.freed.blocks,
            freed_bytes: since.freed.bytes,
            temporary: since.temporary.blocks,
            temporary_bytes: since.temporary.bytes,
            allocations_per_second: rate.blocks,
            bytes_per_second: rate.bytes,
            frees_per_second: reading.per_second(step.freed.blocks),
            freed_bytes_per_second: reading.per_second(step.freed.bytes),
        }
    }
}

/// Writes a reading as one line.
///
/// # Errors
/// Those of the writer.
pub fn top(out: &mut dyn Write, reading: &Reading) -> io::Result<()> {
    let (tables, names) = (&reading.loaded.tables, &reading.loaded.names);
    let row = |row: &Row| RowFields {
        stack: Stack { tables, names, node: row.node },
        call: call_of(tables, row.node),
        change: ChangeFields::new(reading, &row.change),
    };
    let function = |function: &Function| FunctionFields {
        who: who(tables, names, function.label),
        total: ChangeFields::new(reading, &function.total),
        own: ChangeFields::new(reading, &function.own),
    };
    let (hidden, change) = &reading.hidden;
    let body = match reading.by {
        By::Stacks => Body::Stacks {
            rows: reading.rows.iter().map(row).collect(),
            hidden: Box::new(HiddenFields { rows: *hidden, change: ChangeFields::new(reading, change) }),
        },
        By::Total | By::Own => Body::Functions {
            functions: reading.functions.iter().map(function).collect(),
            hidden_functions: *hidden,
        },
    };
    let document = Document {
        schema: SCHEMA,
        document: "top",
        pid: reading.pid,
        process: &reading.process,
        time_ns: reading.time_ns,
        step_ns: reading.step_ns,
        since_ns: reading.since_ns,
        ended: reading.is_over,
        by: reading.order.name(),
        functions_by: reading.by.name(),
        sample_interval: reading.sample_interval,
        rss_bytes: reading.rss,
        threads: reading.threads,
        lost_events: reading.lost,
        unknown_frees: reading.unknown_frees,
        total: ChangeFields::new(reading, &reading.total),
        body,
    };
    serde_json::to_writer(&mut *out, &document)?;
    writeln!(out)
}
