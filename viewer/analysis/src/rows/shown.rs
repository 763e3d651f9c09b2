//! Which children of a node a view shows, and what the hidden ones add up to.

use super::tree::Tree;
use crate::base::cost::Amount;
use crate::base::metric::Metric;
use crate::base::order::natural;
use crate::base::spread::Spread;
use crate::names::table::Names;

/// What is small enough to be hidden and summed up.
#[derive(Clone, Copy, Debug)]
pub struct Cutoff {
    /// Nodes of a lower rank are hidden.
    pub least: i64,
    /// Children beyond this number are hidden.
    pub limit: usize,
    /// This many of the largest are shown even if all are small: an empty table says nothing.
    pub few: usize,
}

impl Cutoff {
    /// How many of these rows are shown; `ranks` are in descending order.
    pub fn shown(self, mut ranks: impl ExactSizeIterator<Item = i64>) -> usize {
        let Some(first) = ranks.next() else { return 0 };
        let least = if first < self.least { 1 } else { self.least };
        let most = if first < self.least { self.few.min(self.limit) } else { self.limit };
        std::iter::once(first).chain(ranks).take_while(|&rank| rank >= least).take(most).count()
    }

    /// The report option that would show what is hidden; `largest` is the highest hidden rank.
    pub fn option(self, largest: i64) -> &'static str {
        if largest < self.least { "--min" } else { "--limit" }
    }
}

/// The children of one node. Those shown, those hidden and the node's own cost add up to its total.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// The most expensive first; equal ones by name.
    pub children: Vec<u32>,
    /// How many are hidden.
    pub hidden: usize,
    /// The option that shows them; empty when none are hidden.
    pub option: &'static str,
    /// What the hidden ones cost.
    pub hidden_total: Amount,
    /// The variances of `hidden_total`.
    pub hidden_spread: Spread,
}

impl Shown {
    /// Chooses among the children of a node.
    pub fn of(tree: &Tree, node: u32, names: &Names, metric: Metric, cutoff: Cutoff) -> Self {
        let rank = |id: u32| metric.rank(tree.node(id).total);
        let order = |id: u32| metric.order(tree.node(id).total);
        let name = |id: u32| names.label(tree.node(id).label).name.as_str();
        let mut children: Vec<u32> = tree.children(node).collect();
        children.sort_by(|&a, &b| {
            let by_name = || natural(name(a), name(b)).then(tree.node(a).label.cmp(&tree.node(b).label));
            order(b).cmp(&order(a)).then_with(by_name)
        });
        // Below the root it may well be that nothing is worth a row.
        let few = if node == Tree::ROOT { cutoff.few } else { 0 };
        let shown = Cutoff { few, ..cutoff }.shown(children.iter().map(|&child| rank(child)));
        let rest = children.split_off(shown);
        let option = rest.first().map_or("", |&largest| cutoff.option(rank(largest)));
        let hidden_total = rest.iter().fold(Amount::ZERO, |sum, &id| sum + tree.node(id).total);
        let hidden_spread = rest.iter().fold(Spread::ZERO, |sum, &id| sum + tree.spread(id));
        Self { children, hidden: rest.len(), option, hidden_total, hidden_spread }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that the right option is named: what is small needs another minimum, whatever the limit is.
    #[test]
    fn hidden_rows_have_an_option() {
        let cutoff = Cutoff { least: 3, limit: 4, few: 2 };
        assert_eq!(
            [5, 3, 2, 0].map(|largest| cutoff.option(largest)),
            ["--limit", "--limit", "--min", "--min"]
        );
    }

    /// Check that large rows are shown up to a limit, and, if none is large, the largest few that are not zero.
    #[test]
    fn something_is_shown() {
        let cutoff = |least, few| Cutoff { least, limit: 4, few };
        for (ranks, least, few, expected) in [
            (&[9, 8, 3, 2, 1][..], 3, 2, 3),
            (&[9, 8, 7, 6, 5], 3, 2, 4),
            (&[2, 2, 2, 1], 3, 2, 2),
            (&[2, 2, 2, 1], 3, 0, 0),
            (&[2, 2, 2, 2, 2, 2], 3, 9, 4),
            (&[1, 0, 0], 3, 2, 1),
            (&[0, 0], 0, 2, 2),
            (&[], 3, 2, 0),
        ] {
            assert_eq!(cutoff(least, few).shown(ranks.iter().copied()), expected, "{ranks:?} {least} {few}");
        }
    }
}
