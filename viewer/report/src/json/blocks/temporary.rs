//! `temporary --json`: short-lived allocations.

use super::start::{AmountFields, Start, stack};
use crate::json::stack::Stack;
use crate::json::write_document;
use analysis::lifetimes::TemporaryRow;
use engine::Loaded;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct TemporaryDocument<'a> {
    #[serde(flatten)]
    start: Start<'a>,
    brief_ns: u64,
    rows: Vec<TemporaryFields<'a>>,
}

#[derive(Serialize)]
struct TemporaryFields<'a> {
    stack: Stack<'a>,
    allocated: AmountFields,
    immediate: AmountFields,
    brief: AmountFields,
}

/// Writes `temporary --json`.
///
/// # Errors
/// Those of the writer.
pub fn temporary(
    out: &mut dyn Write,
    loaded: &Loaded,
    rows: &[TemporaryRow],
    brief_ns: u64,
) -> io::Result<()> {
    let rows = rows.iter().map(|row| TemporaryFields {
        stack: stack(loaded, row.node),
        allocated: row.allocated.into(),
        immediate: row.immediate.into(),
        brief: row.brief.into(),
    });
    write_document(
        out,
        &TemporaryDocument { start: Start::new(loaded, "temporary"), brief_ns, rows: rows.collect() },
    )
}
