//! `failed --json`: calls that should have returned memory and returned none.

use super::start::{AmountFields, Start, ThreadFields, stack, thread};
use crate::json::span::SpanFields;
use crate::json::stack::Stack;
use crate::json::write_document;
use analysis::{Failure, call_of, process_name};
use engine::Loaded;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct FailedDocument<'a> {
    #[serde(flatten)]
    start: Start<'a>,
    #[serde(flatten)]
    span: SpanFields,
    /// False when the recording does not report such calls.
    told: bool,
    calls: u64,
    rows: Vec<RowFields<'a>>,
}

#[derive(Serialize)]
struct RowFields<'a> {
    call: &'static str,
    error: Option<&'static str>,
    calls: u64,
    bytes: u64,
    smallest: Option<u64>,
    largest: Option<u64>,
    overflow: Option<FactorFields>,
    alignment: Option<u64>,
    first_ns: u64,
    last_ns: u64,
    held_first: AmountFields,
    held_last: AmountFields,
    pid: Option<u32>,
    process: Option<String>,
    threads: Vec<ThreadFields<'a>>,
    stack: Stack<'a>,
}

/// A product that overflows.
#[derive(Serialize)]
struct FactorFields {
    count: u64,
    size: u64,
}

/// Writes `failed --json`.
///
/// # Errors
/// Those of the writer.
pub fn failed(out: &mut dyn Write, loaded: &Loaded) -> io::Result<()> {
    let rows = loaded.failures().into_iter().map(|row| fields(loaded, row));
    let document = FailedDocument {
        start: Start::new(loaded, "failed"),
        span: loaded.profile.span.into(),
        told: loaded.tables.metadata.tells_failed_calls(),
        calls: loaded.profile.failed_calls(),
        rows: rows.collect(),
    };
    write_document(out, &document)
}

fn fields<'a>(loaded: &'a Loaded, row: &Failure) -> RowFields<'a> {
    let process = loaded.tables.processes.get(row.process.index());
    RowFields {
        call: call_of(&loaded.tables, row.node),
        error: row.reason.name(),
        calls: row.calls,
        bytes: row.bytes,
        smallest: row.sizes.map(|(least, _)| least),
        largest: row.sizes.map(|(_, most)| most),
        overflow: row.factors.map(|(count, size)| FactorFields { count, size }),
        alignment: Some(row.alignment).filter(|&alignment| alignment != 0),
        first_ns: row.first.time,
        last_ns: row.last.time,
        held_first: row.held_first.into(),
        held_last: row.held_last.into(),
        pid: process.map(|process| process.pid),
        process: process.map(process_name),
        threads: row.threads.iter().filter_map(|id| thread(loaded, *id)).collect(),
        stack: stack(loaded, row.node),
    }
}
