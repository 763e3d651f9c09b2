//! `resident --json`: what memory is actually resident.

use super::head::Head;
use super::span::SpanFields;
use super::stack::Stack;
use super::write_document;
use analysis::{ResidencySums, ResidencyTable};
use capture::{NodeId, ProcessId, Sampling};
use engine::Loaded;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    sample_interval: Option<u64>,
    #[serde(flatten)]
    span: SpanFields,
    recorded: bool,
    lost_faults: u64,
    unknown_at_most_bytes: u64,
    /// None when page faults were not recorded, so that this is unknown.
    resident: Option<SumFields>,
    processes: Vec<ProcessFields>,
    held: Vec<HeldFields<'a>>,
    touched: Vec<TouchFields<'a>>,
}

#[derive(Serialize)]
struct SumFields {
    total_bytes: i64,
    heap_bytes: i64,
    held_bytes: i64,
    blocks_bytes: i64,
    untouched_bytes: i64,
    other_blocks_bytes: i64,
    free_bytes: i64,
    slack_bytes: i64,
    stacks_bytes: i64,
    files_bytes: i64,
    anonymous_bytes: i64,
    unknown_bytes: i64,
}

impl From<&ResidencySums> for SumFields {
    fn from(sums: &ResidencySums) -> Self {
        Self {
            total_bytes: sums.total(),
            heap_bytes: sums.heap(),
            held_bytes: sums.held,
            blocks_bytes: sums.blocks,
            untouched_bytes: sums.untouched(),
            other_blocks_bytes: sums.other_blocks,
            free_bytes: sums.free,
            slack_bytes: sums.slack,
            stacks_bytes: sums.stacks,
            files_bytes: sums.files,
            anonymous_bytes: sums.anonymous,
            unknown_bytes: sums.unknown,
        }
    }
}

#[derive(Serialize)]
struct ProcessFields {
    pid: Option<u32>,
    rss_bytes: Option<u64>,
    #[serde(flatten)]
    sums: SumFields,
}

#[derive(Serialize)]
struct HeldFields<'a> {
    stack: Stack<'a>,
    pid: Option<u32>,
    blocks: i64,
    held_bytes: i64,
    resident_bytes: i64,
    untouched_bytes: i64,
}

#[derive(Serialize)]
struct TouchFields<'a> {
    /// None when the kernel lost it for lack of buffer space.
    stack: Option<Stack<'a>>,
    pid: Option<u32>,
    resident_bytes: u64,
    in_blocks_bytes: u64,
}

/// Writes `resident --json`.
///
/// # Errors
/// Those of the writer.
pub fn resident(out: &mut dyn Write, loaded: &Loaded, table: &ResidencyTable) -> io::Result<()> {
    let Loaded { tables, names, .. } = loaded;
    let pid = |process: ProcessId| tables.processes.get(process.index()).map(|row| row.pid);
    let stack = |node| Stack { tables, names, node };
    let (processes, held, touched) = match table.has_faults {
        true => (&table.processes[..], &table.held[..], &table.touched[..]),
        false => (&[][..], &[][..], &[][..]),
    };
    let processes = processes.iter().map(|(process, sums)| ProcessFields {
        pid: pid(*process),
        rss_bytes: loaded.last_rss(*process),
        sums: sums.into(),
    });
    let held = held.iter().map(|row| HeldFields {
        stack: stack(row.node),
        pid: pid(row.process),
        blocks: row.held.blocks,
        held_bytes: row.held.bytes,
        resident_bytes: row.resident,
        untouched_bytes: row.untouched(),
    });
    let touched = touched.iter().map(|row| TouchFields {
        stack: (row.node != NodeId::ROOT).then(|| stack(row.node)),
        pid: pid(row.process),
        resident_bytes: row.bytes,
        in_blocks_bytes: row.in_blocks,
    });
    let document = Document {
        head: Head::new(loaded, "resident"),
        sample_interval: loaded.profile.sampling.map(Sampling::interval),
        span: SpanFields::from(loaded.profile.span),
        recorded: table.has_faults,
        lost_faults: table.lost,
        unknown_at_most_bytes: table.huge_at_most,
        resident: table.has_faults.then(|| (&table.sums).into()),
        processes: processes.collect(),
        held: held.collect(),
        touched: touched.collect(),
    };
    write_document(out, &document)
}
