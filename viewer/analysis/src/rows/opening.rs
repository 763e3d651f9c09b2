//! Which nodes of a tree a view opens initially.
//!
//! The largest visible closed node is opened, again and again, as long as there is one whose children still fit:
//!
//! ```text
//!  room for 5 rows     [Everything] 100      opened first: 3 rows
//!                       ├─ app 90            opened next:  5 rows
//!                       │   ├─ parse 60      has three children, which would make 8 rows: stays closed
//!                       │   └─ load 30
//!                       └─ sh 10
//! ```

use super::tree::Tree;
use crate::base::metric::Metric;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How far a tree may be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// As far as fits into this many rows, but at least one level.
    Rows(usize),
    /// Exactly one level.
    OneLevel,
}

impl Opening {
    /// The nodes to open, in order.
    // Cost: linear in the rows and the children of opened nodes, whatever the size of the tree.
    pub fn choose(self, tree: &Tree, metric: Metric) -> Vec<u32> {
        let mut opened = vec![Tree::ROOT];
        let Self::Rows(room) = self else { return opened };
        let mut rows = 1 + tree.children(Tree::ROOT).count();
        let order = |id: u32| (metric.order(tree.node(id).total), Reverse(id));
        let mut seen: BinaryHeap<_> = tree.children(Tree::ROOT).map(order).collect();
        while let Some((_, Reverse(id))) = seen.pop() {
            let children = tree.children(id).count();
            if children > 0 && rows + children <= room {
                rows += children;
                opened.push(id);
                seen.extend(tree.children(id).map(order));
            }
        }
        opened
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::cost::Amount;
    use crate::names::table::LabelId;
    use proptest::prelude::*;

    /// `[Everything] { app { parse { x y z } load } sh }`, numbered in this order from 0, but children before
    /// grandchildren.
    fn tree() -> Tree {
        let mut tree = Tree::new();
        let mut push = |parent, bytes| tree.push(LabelId(1), parent, Amount { blocks: 1, bytes });
        let app = push(Tree::ROOT, 90);
        push(Tree::ROOT, 10);
        let parse = push(app, 60);
        push(app, 30);
        for bytes in [30, 20, 10] {
            push(parse, bytes);
        }
        tree
    }

    /// Check what is opened in a given number of rows: the largest first, at least one level, and nothing that does
    /// not fit.
    #[test]
    fn the_largest_are_opened_until_there_is_no_room() {
        let (app, parse) = (1, 3);
        for (rows, expected) in [
            (0, vec![Tree::ROOT]),
            (3, vec![Tree::ROOT]),
            (4, vec![Tree::ROOT]),
            (5, vec![Tree::ROOT, app]),
            (7, vec![Tree::ROOT, app]),
            (8, vec![Tree::ROOT, app, parse]),
            (1000, vec![Tree::ROOT, app, parse]),
        ] {
            assert_eq!(Opening::Rows(rows).choose(&tree(), Metric::Peak), expected, "{rows} rows");
        }
    }

    /// Check that one level is one level, however much room there is, and that an empty tree has it, too.
    #[test]
    fn one_level_is_the_root_alone() {
        assert_eq!(Opening::OneLevel.choose(&tree(), Metric::Peak), [Tree::ROOT]);
        assert_eq!(Opening::Rows(50).choose(&Tree::new(), Metric::Peak), [Tree::ROOT]);
    }

    /// The rule, word by word: of the visible closed nodes whose children fit, the largest is opened.
    fn by_the_rule(tree: &Tree, room: usize) -> Vec<u32> {
        let mut opened = vec![Tree::ROOT];
        loop {
            let seen: Vec<u32> = opened.iter().flat_map(|&id| tree.children(id)).collect();
            let fits = |id: &u32| {
                let children = tree.children(*id).count();
                !opened.contains(id) && children > 0 && 1 + seen.len() + children <= room
            };
            let next =
                seen.iter().copied().filter(fits).max_by_key(|&id| (tree.node(id).total.bytes, Reverse(id)));
            match next {
                Some(next) => opened.push(next),
                None => return opened,
            }
        }
    }

    proptest! {
        /// Check the same of any tree in any room.
        #[test]
        fn any_tree_is_opened_by_the_rule(
            nodes in prop::collection::vec((any::<u32>(), 0_i64..50), 0..60),
            room in 0_usize..70,
        ) {
            let mut tree = Tree::new();
            for (number, (parent, bytes)) in (1..).zip(nodes) {
                tree.push(LabelId(number), parent % number, Amount { blocks: 0, bytes });
            }
            prop_assert_eq!(Opening::Rows(room).choose(&tree, Metric::Peak), by_the_rule(&tree, room));
        }
    }
}
