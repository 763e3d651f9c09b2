//! `reallocs --json`: blocks that are resized again and again.

use super::start::{Start, stack};
use crate::json::stack::Stack;
use crate::json::write_document;
use analysis::lifetimes::ReallocRow;
use engine::Loaded;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct ReallocsDocument<'a> {
    #[serde(flatten)]
    start: Start<'a>,
    rows: Vec<ReallocFields<'a>>,
}

#[derive(Serialize)]
struct ReallocFields<'a> {
    stack: Stack<'a>,
    chains: u64,
    resizes: u64,
    longest: u64,
    moves: u64,
    copied_bytes: u64,
    replaced: bool,
    first_bytes: u64,
    last_bytes: u64,
    /// Steps that doubling would need, if that is far fewer.
    doublings: Option<u64>,
}

/// Writes `reallocs --json`.
///
/// # Errors
/// Those of the writer.
pub fn reallocs(out: &mut dyn Write, loaded: &Loaded, rows: &[ReallocRow]) -> io::Result<()> {
    let rows = rows.iter().map(|row| ReallocFields {
        stack: stack(loaded, row.node),
        chains: row.chains,
        resizes: row.steps,
        longest: row.longest,
        moves: row.moves,
        copied_bytes: row.copied_bytes,
        replaced: row.is_replaced,
        first_bytes: row.first_bytes,
        last_bytes: row.last_bytes,
        doublings: row.advice().map(|advice| advice.doublings),
    });
    write_document(out, &ReallocsDocument { start: Start::new(loaded, "reallocs"), rows: rows.collect() })
}
