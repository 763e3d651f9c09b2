//! `history --json`: everything that happened at one address.

use super::start::{Start, hex, recorded_stack};
use crate::json::stack::Stack;
use crate::json::write_document;
use analysis::lifetimes::{Entry, Turn};
use engine::Loaded;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct HistoryDocument<'a> {
    #[serde(flatten)]
    start: Start<'a>,
    address: String,
    earlier: u64,
    turns: Vec<TurnFields<'a>>,
}

#[derive(Serialize)]
struct TurnFields<'a> {
    time_ns: u64,
    pid: Option<u32>,
    tid: Option<u32>,
    turn: &'static str,
    address: String,
    size: u64,
    old_address: Option<String>,
    old_size: Option<u64>,
    new_address: Option<String>,
    new_size: Option<u64>,
    stack: Option<Stack<'a>>,
}

/// Writes `history --json`.
///
/// # Errors
/// Those of the writer.
pub fn history(
    out: &mut dyn Write,
    loaded: &Loaded,
    address: u64,
    (entries, earlier): (&[Entry], u64),
) -> io::Result<()> {
    let turns = entries.iter().map(|entry| {
        let old =
            if let Turn::ResizedFrom { address, size } = entry.turn { Some((address, size)) } else { None };
        let new =
            if let Turn::ResizedTo { address, size } = entry.turn { Some((address, size)) } else { None };
        TurnFields {
            time_ns: entry.at.time,
            pid: loaded.tables.processes.get(entry.process.index()).map(|process| process.pid),
            tid: entry.thread.and_then(|id| loaded.tables.threads.get(id.index())).map(|thread| thread.tid),
            turn: entry.turn.name(),
            address: hex(entry.address),
            size: entry.size,
            old_address: old.map(|(address, _)| hex(address)),
            old_size: old.map(|(_, size)| size),
            new_address: new.map(|(address, _)| hex(address)),
            new_size: new.map(|(_, size)| size),
            stack: recorded_stack(loaded, entry.stack),
        }
    });
    let start = Start::new(loaded, "history");
    write_document(out, &HistoryDocument { start, address: hex(address), earlier, turns: turns.collect() })
}
