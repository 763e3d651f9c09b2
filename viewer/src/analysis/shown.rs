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
        let (mut children, small): (Vec<u32>, Vec<u32>) =
            tree.children(node).partition(|&child| rank(child) >= cutoff.least);
        children.sort_by(|&a, &b| {
            let by_name = || natural(name(a), name(b)).then(tree.node(a).label.cmp(&tree.node(b).label));
            order(b).cmp(&order(a)).then_with(by_name)
        });
        let beyond = children.split_off(cutoff.limit.min(children.len()));
        let hidden_total =
            small.iter().chain(&beyond).fold(Amount::ZERO, |sum, &id| sum + tree.node(id).total);
        let hidden_spread = small.iter().chain(&beyond).fold(Spread::ZERO, |sum, &id| sum + tree.spread(id));
        Self { children, hidden: small.len() + beyond.len(), hidden_total, hidden_spread }
    }
}
