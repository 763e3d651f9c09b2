//! The views of a graph, as `retained` has them.

use crate::analysis::Amount;
use crate::graph::{ClassRow, KeptTree, Pace, Retained, Scanned, Several, Unreachable};

/// Blocks up to which all rows of the tree are looked at, of which there are not more: of larger graphs only those that retain this
/// part of all.
const MANY: i64 = 1_000_000;

/// Levels of the tree: deeper ones are those of structures that hold each other by turns.
const LEVELS: usize = 200;

/// All that a page shows of a graph.
pub(super) struct Found {
    pub(super) retained: Retained,
    pub(super) several: Several,
    pub(super) classes: Vec<ClassRow>,
    pub(super) unreachable: Unreachable,
    pub(super) tree: KeptTree,
}

/// Rows that are not in a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(super) struct LeftOut {
    rows: usize,
    blocks: i64,
    bytes: i64,
}

impl Found {
    /// None when nobody waits for it any more.
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

    /// Rows of the longest of all tables.
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
    /// What rows behind the first few have.
    pub(super) fn of<T>(rows: &[T], most: usize, amount: impl Fn(&T) -> Amount) -> Self {
        let left = rows.iter().skip(most);
        left.fold(Self::default(), |sum, row| {
            let Amount { blocks, bytes } = amount(row);
            Self { rows: sum.rows + 1, blocks: sum.blocks + blocks, bytes: sum.bytes + bytes }
        })
    }

    /// Rows of which the sum is known.
    pub(super) fn sum(rows: usize, Amount { blocks, bytes }: Amount) -> Self {
        Self { rows, blocks, bytes }
    }
}
