//! What keeps what: the dominator tree, merged by stack.
//!
//! ```text
//!  blocks                        rows
//!
//!  cache                         cache
//!  ├─ A  insert                  └─ insert ×2
//!  │  └─ a  node                    └─ node ×4      a, b, c and d: a list is one row
//!  └─ B  insert
//!     └─ b  node
//!        └─ c  node
//!           └─ d  node
//! ```
//!
//! Each row stands for blocks of one stack that blocks of the row above keep. Blocks that are kept by others of the
//! same stack are in the row of those. So there are never more rows than blocks; a minimum size bounds the rows of
//! each level, and the number of levels is limited.

use crate::amounts::most_first;
use crate::graph::HeapGraph;
use crate::holder::Holder;
use crate::links::Links;
use crate::pace::Pace;
use analysis::Amount;
use std::collections::BTreeMap;

/// The tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetainedTree {
    /// All that is reachable.
    pub reachable: Amount,
    /// Rows, each before those below it, of which those that retain most come first. On top are the roots, and
    /// [`Holder::Several`] for what no single root keeps.
    pub rows: Vec<RetainedTreeRow>,
    /// Number of rows on top that are hidden.
    pub hidden: usize,
    /// What these retain.
    pub hidden_retained: Amount,
}

/// Blocks of a stack that the row above keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetainedTreeRow {
    /// What it stands for.
    pub holder: Holder,
    /// Number of rows above it.
    pub level: usize,
    /// Its blocks.
    pub own: Amount,
    /// These, and what they keep.
    pub retained: Amount,
    /// Number of rows directly below it that are hidden.
    pub hidden: usize,
    /// What these retain.
    pub hidden_retained: Amount,
}

/// A row to be opened.
struct Group {
    label: u32,
    level: usize,
    /// The numbers that nothing of the same label keeps.
    tops: Vec<u32>,
    retained: Amount,
}

impl RetainedTree {
    pub(super) fn new(graph: &HeapGraph, least: i64, levels: usize, pace: &Pace<'_>) -> Option<Self> {
        let below = graph.dominators.below(pace)?;
        let several = graph.label(0);
        let mut groups: Vec<Group> = Vec::new();
        let mut no_single_root = Group::new(several, 0);
        for &number in below.of(0) {
            pace.step()?;
            if graph.own(number).is_zero() {
                let mut root = Group::new(graph.label(number), 0);
                root.add(graph, number);
                groups.push(root);
            } else {
                no_single_root.add(graph, number);
            }
        }
        groups.push(no_single_root);
        groups.retain(|group| !group.retained.is_zero());
        let mut tree = Self { reachable: graph.held(0), ..Self::default() };
        (tree.hidden, tree.hidden_retained) = cut(&mut groups, graph, least, levels == 0);
        let mut open = groups;
        while let Some(group) = open.pop() {
            let (own, children) = if group.label == several {
                (Amount::ZERO, group.tops)
            } else {
                absorb(graph, below, group.label, group.tops, pace)?
            };
            let mut children = merge(graph, children, group.level + 1, pace)?;
            let (hidden, hidden_retained) = cut(&mut children, graph, least, group.level + 1 >= levels);
            open.append(&mut children);
            let (holder, level, retained) = (graph.holder(group.label), group.level, group.retained);
            tree.rows.push(RetainedTreeRow { holder, level, own, retained, hidden, hidden_retained });
        }
        Some(tree)
    }

    /// The same, limited to the `most` rows that retain most: the others are hidden.
    #[must_use]
    pub fn largest(mut self, most: usize) -> Self {
        let all = std::mem::take(&mut self.rows);
        let mut order: Vec<usize> = (0..all.len()).collect();
        // No row retains more than the one above it, which comes before it.
        order.sort_by_key(|&place| (most_first(all[place].retained), place));
        let mut is_kept = vec![false; all.len()];
        order.into_iter().take(most).for_each(|place| is_kept[place] = true);
        // Indices of the ancestors of the row, as far as they are kept.
        let mut above: Vec<usize> = Vec::new();
        for (row, is_kept) in all.into_iter().zip(is_kept) {
            above.truncate(row.level);
            if is_kept {
                above.push(self.rows.len());
                self.rows.push(row);
            } else if above.len() == row.level {
                let (hidden, retained) = match above.last().and_then(|&place| self.rows.get_mut(place)) {
                    Some(above) => (&mut above.hidden, &mut above.hidden_retained),
                    None => (&mut self.hidden, &mut self.hidden_retained),
                };
                *hidden += 1;
                *retained += row.retained;
            }
        }
        self
    }
}

impl Group {
    fn new(label: u32, level: usize) -> Self {
        Self { label, level, tops: Vec::new(), retained: Amount::ZERO }
    }

    fn add(&mut self, graph: &HeapGraph, top: u32) {
        self.tops.push(top);
        self.retained += graph.held(top);
    }
}

/// Everything that numbers of one label keep: the total of those of the same label, and the first of other labels
/// below them.
fn absorb(
    graph: &HeapGraph,
    below: &Links,
    label: u32,
    tops: Vec<u32>,
    pace: &Pace<'_>,
) -> Option<(Amount, Vec<u32>)> {
    let (mut own, mut others, mut open) = (Amount::ZERO, Vec::new(), tops);
    while let Some(number) = open.pop() {
        own += graph.own(number);
        for &child in below.of(number) {
            pace.step()?;
            if graph.label(child) == label { &mut open } else { &mut others }.push(child);
        }
    }
    Some((own, others))
}

/// Groups numbers by label.
fn merge(graph: &HeapGraph, numbers: Vec<u32>, level: usize, pace: &Pace<'_>) -> Option<Vec<Group>> {
    let mut groups: BTreeMap<u32, Group> = BTreeMap::new();
    for number in numbers {
        pace.step()?;
        let label = graph.label(number);
        groups.entry(label).or_insert_with(|| Group::new(label, level)).add(graph, number);
    }
    Some(groups.into_values().collect())
}

/// Removes groups that are too small, or all of them, and sorts the largest last; returns how many were removed, and
/// what they retain.
fn cut(groups: &mut Vec<Group>, graph: &HeapGraph, least: i64, all: bool) -> (usize, Amount) {
    let is_hidden = |group: &mut Group| all || group.retained.bytes < least;
    let hidden = groups.extract_if(.., is_hidden).map(|group| group.retained);
    let (number, retained) = hidden.fold((0, Amount::ZERO), |(n, sum), retained| (n + 1, sum + retained));
    groups.sort_unstable_by_key(|group| (most_first(group.retained), graph.holder(group.label)));
    groups.reverse();
    (number, retained)
}

#[cfg(test)]
mod tests {
    use crate::RootId;
    use crate::drawn::{ROOTS_OF_PARTS, graph, numbered, parts};
    use crate::graph::tree::*;
    use capture::NodeId;
    use proptest::prelude::*;

    /// `  2 ×3 30/35`: stack 2, three blocks of 30 bytes that retain 35; `+1:5` are hidden rows.
    fn lines(tree: &RetainedTree) -> Vec<String> {
        let line = |row: &RetainedTreeRow| {
            let name = match row.holder {
                Holder::Root(root) => format!("root {}", root.0),
                Holder::Several => "several".to_owned(),
                Holder::Stack(node) => node.0.to_string(),
            };
            let numbers = format!("×{} {}/{}", row.own.blocks, row.own.bytes, row.retained.bytes);
            let hidden = match row.hidden {
                0 => String::new(),
                hidden => format!(" +{hidden}:{}", row.hidden_retained.bytes),
            };
            format!("{}{name} {numbers}{hidden}", "  ".repeat(row.level))
        };
        tree.rows.iter().map(line).collect()
    }

    /// Check the drawing: blocks of one stack below a row form one row, and so does a list.
    #[test]
    fn rows_are_as_drawn() {
        let blocks = [(1, 1), (2, 2), (4, 1), (8, 2), (16, 2), (32, 2)];
        let tree = graph(&blocks, "0A AB 0C CD DE EF").tree(0, 9);
        assert_eq!(lines(&tree), ["root 0 ×0 0/63", "  1 ×2 5/63", "    2 ×4 58/58"]);
        assert_eq!((tree.reachable.bytes, tree.hidden), (63, 0));
    }

    /// Check that what no single root holds has a row, that the largest comes first, and that everything hidden is
    /// counted.
    #[test]
    fn hidden_rows_are_counted() {
        let blocks = [(1, 1), (20, 2), (4, 3), (8, 4), (16, 1), (32, 1)];
        let graph = graph(&blocks, "0A 1A 1B BC BD 2E");
        let all = [
            "root 1 ×0 0/32",
            "  2 ×1 20/32",
            "    4 ×1 8/8",
            "    3 ×1 4/4",
            "root 2 ×0 0/16",
            "  1 ×1 16/16",
            "several ×0 0/1",
            "  1 ×1 1/1",
        ];
        assert_eq!(lines(&graph.tree(0, 9)), all);
        let large = ["root 1 ×0 0/32", "  2 ×1 20/32 +1:4", "    4 ×1 8/8", "root 2 ×0 0/16", "  1 ×1 16/16"];
        let tree = graph.tree(8, 9);
        assert_eq!(lines(&tree), large);
        assert_eq!((tree.hidden, tree.hidden_retained.bytes), (1, 1));
        let high = ["root 1 ×0 0/32 +1:32", "root 2 ×0 0/16 +1:16", "several ×0 0/1 +1:1"];
        assert_eq!(lines(&graph.tree(0, 1)), high);
        assert_eq!((graph.tree(0, 0).rows, graph.tree(0, 0).hidden), (vec![], 3));
        let largest = ["root 1 ×0 0/32", "  2 ×1 20/32 +2:12", "root 2 ×0 0/16 +1:16"];
        let tree = graph.tree(0, 9).largest(3);
        assert_eq!(lines(&tree), largest);
        assert_eq!((tree.hidden, tree.hidden_retained.bytes), (1, 1));
    }

    /// Check that a list of many blocks is one row, and that a list that alternates between two stacks is cut.
    #[test]
    fn lists_are_folded() {
        let list = |stack: fn(u32) -> u32| {
            let blocks: Vec<_> = (0..100_000).map(|block| (1, stack(block))).collect();
            let links: Vec<_> = (0..100_000).map(|block| (block, block + 1)).collect();
            numbered(&blocks, &[(0, 0)], &links)
        };
        assert_eq!(lines(&list(|_| 5).tree(0, 9)), ["root 0 ×0 0/100000", "  5 ×100000 100000/100000"]);
        let tree = list(|block| block % 2).tree(0, 3);
        let expected = ["root 0 ×0 0/100000", "  0 ×1 1/100000", "    1 ×1 1/99999 +1:99998"];
        assert_eq!(lines(&tree), expected);
    }

    proptest! {
        /// Check that rows add up to all that is reachable, at any depth and minimum size.
        #[test]
        fn rows_add_up(parts in parts(), least in 0..100_i64, levels in 0..6_usize, most in 0..9_usize) {
            let graph = numbered(&parts.0, &parts.1, &parts.2);
            for (least, levels, most) in
                [(0, usize::MAX, usize::MAX), (least, levels, usize::MAX), (least, levels, most), (0, usize::MAX, most)]
            {
                let tree = graph.tree(least, levels).largest(most);
                prop_assert!(tree.rows.len() <= most);
                let mut below = vec![Amount::ZERO; 20];
                for row in tree.rows.iter().rev() {
                    let under = std::mem::take(&mut below[row.level + 1]);
                    prop_assert_eq!(row.own + row.hidden_retained + under, row.retained);
                    prop_assert!(row.retained.bytes >= least && row.level < levels);
                    below[row.level] += row.retained;
                }
                prop_assert_eq!(below[0] + tree.hidden_retained, tree.reachable);
            }
            let tree = graph.tree(0, usize::MAX);
            let nodes = tree.rows.iter().filter(|row| matches!(row.holder, Holder::Stack(NodeId(_))));
            prop_assert!(nodes.clone().count() <= parts.0.len() && nodes.count() as i64 <= tree.reachable.blocks);
            let roots = tree.rows.iter().filter(|row| matches!(row.holder, Holder::Root(RootId(_))));
            prop_assert!(roots.count() <= ROOTS_OF_PARTS.len());
        }
    }
}
