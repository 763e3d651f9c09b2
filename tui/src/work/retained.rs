//! What a scan found, in the form that pages show: the graph itself is not kept.

use super::stack_list::{StackList, WIDE};
use super::table_list::table_list_at;
use crate::catalogue;
use analysis::format::{bytes, count, counted, percent};
use analysis::{Amount, LabelId, Tree};
use capture::NodeId;
use engine::Loaded;
use heap_graph::{Holder, Pace, RetainedTree, Scanned};
use report::table::{Table, Value};
use report::text::words;
use report::views::{ScanHead, UNREACHABLE, holder, retained_at};
use std::collections::HashMap;
use std::sync::Arc;

/// Most levels of the tree: a linked list of two alternating stacks is as deep as it has blocks, and each step up or
/// down takes time.
const LEVELS: usize = 500;

/// Everything that pages show of a scan.
#[derive(Debug)]
pub(crate) struct RetainedMemory {
    /// What was found, and what to know before trusting it.
    pub(crate) about: Vec<String>,
    /// How it was found, and what its numbers mean.
    pub(crate) explained: Vec<String>,
    /// The names of functions.
    pub(crate) loaded: Arc<Loaded>,
    /// What keeps what, from the roots inwards, with labels of this scan.
    pub(crate) tree: Arc<Tree>,
    /// What the tree's labels stand for.
    pub(crate) labels: Vec<RetainedLabel>,
    /// What is reachable, by stack.
    pub(crate) stacks: Arc<StackList>,
    /// By root.
    pub(crate) roots: Arc<StackList>,
    /// By C++ class, as far as classes are known.
    pub(crate) classes: Arc<StackList>,
    /// What is said about blocks that no single root keeps.
    pub(crate) several: Vec<String>,
    /// What is unreachable, by stack.
    pub(crate) unreachable: Arc<StackList>,
    /// What rows of unreachable blocks mean.
    pub(crate) meaning: &'static str,
}

/// A label of the tree.
#[derive(Clone, Debug)]
pub(crate) struct RetainedLabel {
    /// Its name, safe to print.
    pub(crate) name: String,
    /// What it stands for.
    pub(crate) target: RowTarget,
}

/// What a row of the tree stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RowTarget {
    /// All that is reachable.
    All,
    /// A root, or blocks of a stack.
    For(Holder),
    /// Rows too deep to be shown, and how many.
    Hidden(usize),
}

impl RetainedMemory {
    /// The results of a scan; none when nobody wants them any more.
    // Cost: linear in blocks, two to three seconds for five million; it can be cancelled at any time.
    pub(crate) fn new(loaded: Arc<Loaded>, scanned: &Scanned, pace: &Pace<'_>) -> Option<Self> {
        let (tree, labels) = tree(&loaded, scanned, &scanned.graph.tree_at(0, LEVELS, pace)?, pace)?;
        let document = retained_at(&loaded, scanned, pace)?;
        let table = |id: &str| {
            document.tables.iter().find(|table| table.id == id).cloned().expect("one of its tables")
        };
        let several = table("several").rows;
        let mut roots = table("roots");
        let below = several.iter().flat_map(|row| &row.below);
        let several_of = below.map(|row| said(&loaded, &row.name)).collect();
        roots.rows.extend(several);
        let list = |table: &Table| {
            Some(Arc::new(table_list_at(loaded.clone(), Vec::new(), table, catalogue::SEE_BY_COMMAND, pace)?))
        };
        let lost = table("unreachable_stacks");
        let ScanHead { held, warnings, explained } = ScanHead::new(&loaded, scanned);
        let held = catalogue::scan_of(scanned.number, scanned.count, &said(&loaded, &held));
        let warnings = warnings.iter().map(|text| catalogue::warning(&said(&loaded, text)));
        Some(Self {
            about: std::iter::once(held).chain(warnings).collect(),
            explained: explained.iter().map(|text| said(&loaded, text)).collect(),
            tree: Arc::new(tree),
            labels,
            stacks: list(&table("stacks"))?,
            roots: list(&roots)?,
            classes: list(&table("classes"))?,
            several: several_of,
            meaning: if lost.rows.is_empty() { catalogue::ALL_REACHABLE } else { UNREACHABLE },
            unreachable: list(&lost)?,
            loaded,
        })
    }

    /// What a label stands for.
    pub(crate) fn label(&self, label: LabelId) -> &RetainedLabel {
        &self.labels[label.index()]
    }

    /// The stack of a label; none where it stands for something else.
    pub(crate) fn node(&self, label: LabelId) -> Option<NodeId> {
        match self.label(label).target {
            RowTarget::For(Holder::Stack(node)) => Some(node),
            _ => None,
        }
    }

    /// The blocks that a node of the tree stands for. Hidden rows do not count.
    pub(crate) fn own(&self, id: u32) -> Amount {
        match self.label(self.tree.node(id).label).target {
            RowTarget::Hidden(_) => Amount::ZERO,
            _ => self.tree.own(id),
        }
    }
}

/// A value in words, not cut except at the edge of the screen.
fn said(loaded: &Loaded, value: &Value) -> String {
    words(loaded, value, WIDE)
}

/// Retained bytes, their share, and own blocks: bytes, and how many.
pub(crate) fn retained_cells(retained: Amount, own: Amount, whole: Amount) -> [String; 4] {
    let share = percent(retained.bytes, whole.bytes);
    [bytes(retained.bytes), share, bytes(own.bytes), count(own.blocks)]
}

/// The headings of these numbers, and of what is kept.
pub(crate) fn retained_heads() -> [String; 5] {
    ["retained", "share", "own", "blocks", "kept"].map(str::to_owned)
}

/// An amount in words.
pub(crate) fn sized(amount: Amount) -> String {
    format!("{} in {}", bytes(amount.bytes), counted(amount.blocks, "block"))
}

/// The tree with a label for each root, stack and number of hidden rows; none when nobody wants it any more.
fn tree(
    loaded: &Loaded,
    scanned: &Scanned,
    kept: &RetainedTree,
    pace: &Pace<'_>,
) -> Option<(Tree, Vec<RetainedLabel>)> {
    let mut labels = vec![RetainedLabel { name: catalogue::REACHABLE.to_owned(), target: RowTarget::All }];
    let mut known = HashMap::new();
    let mut label = |target| {
        pace.step()?;
        if let Some(&known) = known.get(&target) {
            return Some(known);
        }
        pace.steps(Pace::ROW)?;
        let name = match target {
            RowTarget::All => catalogue::REACHABLE.to_owned(),
            RowTarget::For(one) => said(loaded, &holder(one, &scanned.roots)),
            RowTarget::Hidden(rows) => catalogue::hidden(rows),
        };
        labels.push(RetainedLabel { name, target });
        let label = LabelId(u32::try_from(labels.len() - 1).unwrap_or(0));
        known.insert(target, label);
        Some(label)
    };
    let rows = kept.rows.iter().flat_map(|row| {
        let hidden =
            (row.hidden > 0).then_some((row.level + 1, RowTarget::Hidden(row.hidden), row.hidden_retained));
        [(row.level, RowTarget::For(row.holder), row.retained)].into_iter().chain(hidden)
    });
    let mut is_wanted = true;
    let rows = rows.map_while(|(level, target, retained)| {
        let label = label(target);
        is_wanted = label.is_some();
        Some((level, label?, retained))
    });
    let tree = Tree::of_walk(LabelId(0), kept.reachable, rows);
    is_wanted.then_some((tree, labels))
}
