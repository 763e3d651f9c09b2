//! `retained --json`: what stacks, roots and classes keep alive, and what has become unreachable.

use super::start::{AmountFields, StackAmount, Start, stack};
use crate::json::scan::ScanFields;
use crate::json::stack::Stack;
use crate::json::write_document;
use analysis::Amount;
use engine::Loaded;
use heap_graph::{ClassRow, Holder, RetainedRow, RootId, RootRow, Scanned, UnreachableRow, root_name};
use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, Write};

#[derive(Serialize)]
struct RetainedDocument<'a> {
    #[serde(flatten)]
    start: Start<'a>,
    #[serde(flatten)]
    scanned: ScannedFields<'a>,
    stacks: Vec<StackFields<'a>>,
    roots: Vec<RootFields<'a>>,
    several_roots: AmountFields,
    several_roots_from: Vec<FromFields<'a>>,
    several_roots_not_followed: usize,
    classes: Vec<ClassFields<'a>>,
    unreachable_stacks: Vec<HeadFields<'a>>,
}

/// What a scan found as a whole.
#[derive(Serialize)]
pub struct ScannedFields<'a> {
    scan: GraphFields<'a>,
    held: AmountFields,
    reachable: AmountFields,
    unreachable: AmountFields,
    overlapping: AmountFields,
    links: usize,
    pointers: PointerFields,
}

#[derive(Serialize)]
struct GraphFields<'a> {
    #[serde(flatten)]
    scan: ScanFields<'a>,
    scans: usize,
    is_partial: bool,
    freed_later: AmountFields,
}

#[derive(Serialize)]
struct PointerFields {
    all: u64,
    astray: u64,
    ignored: u64,
    left_out: u64,
}

#[derive(Serialize)]
struct StackFields<'a> {
    stack: Stack<'a>,
    own: AmountFields,
    retained: AmountFields,
    retained_is_least: bool,
    direct_blocks: i64,
    kept_by: Vec<HolderFields<'a>>,
    other_holders: usize,
}

#[derive(Serialize)]
struct HolderFields<'a> {
    kind: &'static str,
    root: Option<Cow<'a, str>>,
    stack: Option<Stack<'a>>,
    #[serde(flatten)]
    amount: AmountFields,
}

#[derive(Serialize)]
struct RootFields<'a> {
    name: Cow<'a, str>,
    direct: AmountFields,
    retained: AmountFields,
}

#[derive(Serialize)]
struct ClassFields<'a> {
    name: &'a str,
    own: AmountFields,
    retained: AmountFields,
    retained_is_least: bool,
    unreachable: AmountFields,
}

#[derive(Serialize)]
struct FromFields<'a> {
    name: Cow<'a, str>,
    #[serde(flatten)]
    amount: AmountFields,
}

#[derive(Serialize)]
struct HeadFields<'a> {
    stack: Stack<'a>,
    own: AmountFields,
    claimed: AmountFields,
    cycles: i64,
    leads_to: Vec<StackAmount<'a>>,
}

impl<'a> ScannedFields<'a> {
    /// The fields of a graph of references.
    pub fn new(loaded: &'a Loaded, scanned: &Scanned) -> Self {
        let figures = scanned.graph.figures();
        Self {
            scan: GraphFields {
                scan: ScanFields::new(loaded, scanned.number, &scanned.scan),
                scans: scanned.count,
                is_partial: scanned.is_partial,
                freed_later: scanned.freed_later().into(),
            },
            held: figures.blocks.into(),
            reachable: figures.reachable.into(),
            unreachable: (figures.blocks - figures.reachable).into(),
            overlapping: figures.overlapping.into(),
            links: figures.links,
            pointers: PointerFields {
                all: figures.pointers,
                astray: figures.astray,
                ignored: figures.ignored,
                left_out: figures.left_out,
            },
        }
    }
}

/// Writes `retained --json`.
///
/// # Errors
/// Those of the writer.
pub fn retained(out: &mut dyn Write, loaded: &Loaded, scanned: &Scanned) -> io::Result<()> {
    let Scanned { graph, roots: names, classes, .. } = scanned;
    let holder = |&(holder, amount): &(Holder, Amount)| {
        let (kind, root, of) = match holder {
            Holder::Root(root) => ("root", Some(root_name(names, root)), None),
            Holder::Several => ("several_roots", None, None),
            Holder::Stack(node) => ("stack", None, Some(stack(loaded, node))),
        };
        HolderFields { kind, root, stack: of, amount: amount.into() }
    };
    let by_stack = |row: &RetainedRow| StackFields {
        stack: stack(loaded, row.node),
        own: row.own.into(),
        retained: row.retained.into(),
        retained_is_least: row.is_least,
        direct_blocks: row.direct,
        kept_by: row.holders.iter().map(holder).collect(),
        other_holders: row.more_holders,
    };
    let by_root = |row: &RootRow| RootFields {
        name: root_name(names, row.root),
        direct: row.direct.into(),
        retained: row.retained.into(),
    };
    let by_class = |row: &ClassRow| ClassFields {
        name: loaded.tables.string(row.name),
        own: row.own.into(),
        retained: row.retained.into(),
        retained_is_least: row.is_least,
        unreachable: row.unreachable.into(),
    };
    let unreachable = |row: &UnreachableRow| HeadFields {
        stack: stack(loaded, row.node),
        own: row.heads.into(),
        claimed: row.claimed.into(),
        cycles: row.cycles,
        leads_to: row.leads_to.iter().map(|&row| StackAmount::new(loaded, row)).collect(),
    };
    let from = |&(root, amount): &(RootId, Amount)| FromFields {
        name: root_name(names, root),
        amount: amount.into(),
    };
    let (found, several) = (graph.retained(), graph.several());
    let document = RetainedDocument {
        start: Start::new(loaded, "retained"),
        scanned: ScannedFields::new(loaded, scanned),
        stacks: found.stacks.iter().map(by_stack).collect(),
        roots: found.roots.iter().map(by_root).collect(),
        several_roots: found.several.into(),
        several_roots_from: several.roots.iter().map(from).collect(),
        several_roots_not_followed: several.not_followed,
        classes: classes.rows(graph).iter().map(by_class).collect(),
        unreachable_stacks: graph.unreachable().stacks.iter().map(unreachable).collect(),
    };
    write_document(out, &document)
}
