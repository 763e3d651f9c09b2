//! The views of a graph, as in `retained`.

use analysis::Amount;
use heap_graph::{ClassRow, Pace, Retained, RetainedTree, Scanned, Several, Unreachable};

/// Up to this many blocks, all rows of the tree are computed, since there are no more rows than blocks; for larger
/// graphs only rows that retain at least this fraction of the total.
const MANY: i64 = 1_000_000;

/// Most levels of the tree: deeper ones occur in structures of alternating types.
const LEVELS: usize = 200;

/// Everything that a page shows of a graph.
pub(super) struct Found {
    pub(super) retained: Retained,
    pub(super) several: Several,
    pub(super) classes: Vec<ClassRow>,
    pub(super) unreachable: Unreachable,
    pub(super) tree: RetainedTree,
}

/// Rows that are missing from a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(super) struct LeftOut {
    pub(super) rows: usize,
    #[serde(flatten)]
    pub(super) amount: Amount,
}

impl Found {
    /// None when the caller gives up.
    pub(super) fn new(scanned: &Scanned, pace: &Pace<'_>) -> Option<Self> {
        let graph = &scanned.graph;
        let reachable = graph.figures().reachable;
        let least = if reachable.blocks <= MANY { 0 } else { reachable.bytes / MANY };
        Some(Self {
            retained: graph.retained_at(pace)?,
            several: graph.several_at(pace)?,
            classes: scanned.classes.rows_at(graph, pace)?,
            unreachable: graph.unreachable_at(pace)?,
            tree: graph.tree_at(least, LEVELS, pace)?.largest(super::MOST_ROWS),
        })
    }

    /// Number of rows of the longest table.
    pub(super) fn most_rows(&self) -> usize {
        let Self { retained, classes, unreachable, tree, .. } = self;
        let lengths = [
            retained.stacks.len(),
            retained.roots.len(),
            classes.len(),
            unreachable.stacks.len(),
            tree.rows.len(),
        ];
        lengths.into_iter().fold(0, usize::max)
    }
}

impl LeftOut {
    /// The sum of the rows after the first `most`.
    pub(super) fn of<T>(rows: &[T], most: usize, amount: impl Fn(&T) -> Amount) -> Self {
        Self { rows: rows.len().saturating_sub(most), amount: rows.iter().skip(most).map(amount).sum() }
    }
}
