//! What is known of a scan: the head of every view of one.

use crate::table::{Value, phrase};
use capture::Scan;
use engine::Loaded;
use heap_graph::Scanned;

/// What was scanned, what is missing, and what the numbers mean: the same in every view.
#[derive(Clone, Debug)]
pub struct ScanHead {
    /// When which process was scanned, and how much it held.
    pub held: Value,
    /// Warnings about its reliability.
    pub warnings: Vec<Value>,
    /// How it was scanned, and what its numbers mean.
    pub explained: Vec<Value>,
}

impl ScanHead {
    /// The heading for a scan.
    pub fn new(loaded: &Loaded, scanned: &Scanned) -> Self {
        Self { held: held(loaded, scanned), warnings: missing(scanned), explained: explained(scanned) }
    }
}

fn held(loaded: &Loaded, Scanned { scan, graph, .. }: &Scanned) -> Value {
    let figures = graph.figures();
    let process = match loaded.tables.processes.get(scan.process.index()) {
        Some(process) => {
            phrase![process.name.clone(), " (", Value::Id(process.pid.into()), ")"]
        }
        None => Value::Empty,
    };
    let unreachable = figures.blocks - figures.reachable;
    let unreachable = match unreachable.blocks {
        0 => "all reachable".into(),
        _ => phrase![unreachable, " unreachable"],
    };
    phrase![Value::Duration(scan.time), ": ", process, " held ", figures.blocks, ", ", unreachable]
}

fn missing(scanned: &Scanned) -> Vec<Value> {
    let (scan, figures, freed) = (&scanned.scan, scanned.graph.figures(), scanned.freed_later());
    let missing = [
        (scan.unread > 0).then(|| {
            let meaning =
                " of memory could not be read: blocks referenced only from there count as unreachable";
            phrase![Value::bytes(scan.unread), meaning]
        }),
        (scan.lost > 0).then(|| {
            let meaning = " dropped for lack of room: blocks referenced only that way count as unreachable";
            phrase![Value::counted(scan.lost, "pointer"), meaning]
        }),
        (!freed.is_zero()).then(|| {
            phrase![freed, " that seems unreachable was freed later: its address was stored in another form"]
        }),
        (!figures.overlapping.is_zero())
            .then(|| phrase![figures.overlapping, " skipped: inside other blocks"]),
        (figures.left_out > 0)
            .then(|| phrase![Value::counted(figures.left_out, "pointer"), " skipped (too many)"]),
    ];
    missing.into_iter().flatten().collect()
}

fn explained(Scanned { scan, number, count, is_partial, .. }: &Scanned) -> Vec<Value> {
    let (number, count) = (Value::count(*number as u64), Value::count(*count as u64));
    let (still, searched) = (Value::Duration(scan.still_ns), Value::bytes(scan.searched));
    let mut explained = vec![
        phrase!["scan ", number, " of ", count, ": the process was stopped for ", still, " while ", searched, " were searched"],
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

/// Fields of the scan with this number in the capture, from 1, apart from its pointers.
pub(crate) fn scan_fields(loaded: &Loaded, number: usize, scan: &Scan) -> Vec<(&'static str, Value)> {
    let process = loaded.tables.processes.get(scan.process.index());
    vec![
        ("number", Value::count(number as u64)),
        ("pid", Value::Process(scan.process)),
        ("process", Value::known(process.map(|process| process.name.clone()))),
        ("time_ns", Value::Time(scan.time)),
        ("still_ns", Value::Duration(scan.still_ns)),
        ("searched_bytes", Value::bytes(scan.searched)),
        ("unread_bytes", Value::bytes(scan.unread)),
        ("lost_pointers", Value::count(scan.lost)),
    ]
}

/// Fields of what a scan found as a whole.
pub fn scanned_fields(loaded: &Loaded, scanned: &Scanned) -> Vec<(&'static str, Value)> {
    let figures = scanned.graph.figures();
    let mut scan = scan_fields(loaded, scanned.number, &scanned.scan);
    scan.extend([
        ("scans", Value::count(scanned.count as u64)),
        ("is_partial", Value::Flag(scanned.is_partial)),
        ("freed_later", scanned.freed_later().into()),
    ]);
    let pointers = vec![
        ("all", Value::count(figures.pointers)),
        ("astray", Value::count(figures.astray)),
        ("ignored", Value::count(figures.ignored)),
        ("left_out", Value::count(figures.left_out)),
    ];
    vec![
        ("scan", Value::Record(scan)),
        ("held", figures.blocks.into()),
        ("reachable", figures.reachable.into()),
        ("unreachable", (figures.blocks - figures.reachable).into()),
        ("overlapping", figures.overlapping.into()),
        ("links", Value::count(figures.links as u64)),
        ("pointers", Value::Record(pointers)),
    ]
}
