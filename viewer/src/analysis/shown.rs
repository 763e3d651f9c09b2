//! Which children of a node a view shows, and what the others add up to.

use super::cost::Amount;
use super::metric::Metric;
use super::names::Names;
use super::order::natural;
use super::spread::Spread;
use super::tree::Tree;

/// What is small enough to be summed up.
#[derive(Clone, Copy, Debug)]
pub struct Cutoff {
    /// Nodes of a lower rank are hidden.
    pub least: i64,
    /// Children beyond this number are hidden.
    pub limit: usize,
    /// So many of the largest are shown where all are small: a table of nothing says nothing.
    pub few: usize,
}

impl Cutoff {
    /// How many rows are shown of these, whose ranks fall.
    pub fn shown(self, mut ranks: impl ExactSizeIterator<Item = i64>) -> usize {
        let Some(first) = ranks.next() else { return 0 };
        let least = if first < self.least { 1 } else { self.least };
        let most = if first < self.least { self.few.min(self.limit) } else { self.limit };
        std::iter::once(first).chain(ranks).take_while(|&rank| rank >= least).take(most).count()
    }
}

/// The children of one node. Those shown, those hidden and the node's own cost add up to its total.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// The most expensive first; those that cost the same by name.
    pub children: Vec<u32>,
    /// How many are not shown.
    pub hidden: usize,
    /// What they cost.
    pub hidden_total: Amount,
    /// The variances of that.
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
        // Further in it may well be that nothing is worth a row.
        let few = if node == Tree::ROOT { cutoff.few } else { 0 };
        let shown = Cutoff { few, ..cutoff }.shown(children.iter().map(|&child| rank(child)));
        let rest = children.split_off(shown);
        let hidden_total = rest.iter().fold(Amount::ZERO, |sum, &id| sum + tree.node(id).total);
        let hidden_spread = rest.iter().fold(Spread::ZERO, |sum, &id| sum + tree.spread(id));
        Self { children, hidden: rest.len(), hidden_total, hidden_spread }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that what is large is shown up to a limit, and the largest few where nothing is, of those that have anything.
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
