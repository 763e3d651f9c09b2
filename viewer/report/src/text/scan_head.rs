//! The heading of every view of a scan.

use super::escape::escape;
use analysis::Amount;
use analysis::format::{bytes, counted, duration};
use engine::Loaded;
use heap_graph::Scanned;

/// What was scanned, what is missing, and what the numbers mean: the same in every view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanHead {
    /// When which process was scanned, and how much it held.
    pub held: String,
    /// Warnings about its reliability.
    pub warnings: Vec<String>,
    /// How it was scanned, and what its numbers mean.
    pub explained: Vec<String>,
}

impl ScanHead {
    /// The heading for a scan.
    pub fn new(loaded: &Loaded, scanned: &Scanned) -> Self {
        Self { held: held(loaded, scanned), warnings: missing(scanned), explained: explained(scanned) }
    }
}

fn sized(amount: Amount) -> String {
    format!("{} in {}", bytes(amount.bytes), counted(amount.blocks, "block"))
}

fn size(bytes_of: u64) -> String {
    bytes(bytes_of.min(i64::MAX as u64).cast_signed())
}

fn held(loaded: &Loaded, Scanned { scan, graph, .. }: &Scanned) -> String {
    let figures = graph.figures();
    let process = loaded.tables.processes.get(scan.process.index());
    let process = process.map_or_else(String::new, |process| format!("{} ({})", process.name, process.pid));
    let unreachable = figures.blocks - figures.reachable;
    format!(
        "{}: {} held {}, {}",
        duration(scan.time),
        escape(&process),
        sized(figures.blocks),
        match unreachable.blocks {
            0 => "all reachable".into(),
            _ => format!("{} unreachable", sized(unreachable)),
        }
    )
}

fn missing(scanned: &Scanned) -> Vec<String> {
    let (scan, figures) = (&scanned.scan, scanned.graph.figures());
    let mut missing = Vec::new();
    if scan.unread > 0 {
        let unread = size(scan.unread);
        missing.push(format!(
            "{unread} of memory could not be read: blocks referenced only from there count as unreachable"
        ));
    }
    if scan.lost > 0 {
        missing.push(format!(
            "{} dropped for lack of room: blocks referenced only that way count as unreachable",
            counted(scan.lost, "pointer")
        ));
    }
    let freed = scanned.freed_later();
    if !freed.is_zero() {
        missing.push(format!(
            "{} that seems unreachable was freed later: its address was stored in another form",
            sized(freed)
        ));
    }
    if !figures.overlapping.is_zero() {
        missing.push(format!("{} skipped: inside other blocks", sized(figures.overlapping)));
    }
    if figures.left_out > 0 {
        missing.push(format!("{} skipped (too many)", counted(figures.left_out, "pointer")));
    }
    missing
}

fn explained(Scanned { scan, number, count, is_partial, .. }: &Scanned) -> Vec<String> {
    let mut explained = vec![
        format!(
            "scan {number} of {count}: the process was stopped for {} while {} were searched",
            duration(scan.still_ns),
            size(scan.searched)
        ),
        "retained: memory reachable only through these blocks; anything that looks like a pointer counts as one"
            .into(),
    ];
    if *is_partial {
        explained.push(
            "not all blocks are known: memory outside known blocks counts as in use, so more may be unreachable"
                .into(),
        );
    }
    explained
}
