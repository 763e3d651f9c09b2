//! The cost of each function, wherever it was called.

use super::tree::Tree;
use crate::base::cost::Amount;
use crate::base::metric::Metric;
use crate::base::order::natural;
use crate::base::spread::Spread;
use crate::count::profile::Profile;
use crate::names::table::{Kind, LabelId, Names};
use capture::Tables;

/// One function of a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FunctionCost {
    /// The function.
    pub label: LabelId,
    /// What it allocated itself.
    pub own: Amount,
    /// What it and the functions it called allocated. A stack that contains it several times is charged once, so no
    /// total exceeds the capture's.
    pub total: Amount,
    /// The variances of `own`.
    pub own_spread: Spread,
    /// The variances of `total`.
    pub total_spread: Spread,
}

/// The functions of a top-down tree, in order of their labels.
pub fn functions(tree: &Tree, names: &Names) -> Vec<FunctionCost> {
    let mut costs = vec![(Amount::ZERO, Amount::ZERO); names.len()];
    let mut spreads = vec![(Spread::ZERO, Spread::ZERO); names.len()];
    let mut on_path = vec![0_u32; names.len()];
    let mut present = vec![false; names.len()];
    let mut walk = vec![Visit::Enter(Tree::ROOT)];
    while let Some(visit) = walk.pop() {
        match visit {
            Visit::Leave(label) => on_path[label.index()] -= 1,
            Visit::Enter(id) => {
                let node = tree.node(id);
                let (own, total) = &mut costs[node.label.index()];
                let (own_spread, total_spread) = &mut spreads[node.label.index()];
                *own += tree.own(id);
                *own_spread += tree.own_spread(id);
                if on_path[node.label.index()] == 0 {
                    *total += node.total;
                    *total_spread += tree.spread(id);
                }
                present[node.label.index()] = true;
                on_path[node.label.index()] += 1;
                walk.push(Visit::Leave(node.label));
                walk.extend(tree.children(id).map(Visit::Enter));
            }
        }
    }
    names
        .ids()
        .zip(costs.into_iter().zip(spreads))
        .filter(|(label, _)| present[label.index()])
        .filter(|(label, _)| !matches!(names.label(*label).kind, Kind::Everything | Kind::Process))
        .map(|(label, ((own, total), (own_spread, total_spread)))| FunctionCost {
            label,
            own,
            total,
            own_spread,
            total_spread,
        })
        .collect()
}

/// The functions of a profile, those with most of a metric first.
pub fn ranked_functions(
    profile: &Profile,
    tables: &Tables,
    names: &Names,
    metric: Metric,
) -> Vec<FunctionCost> {
    let mut costs = functions(&Tree::top_down(profile, tables, names, metric), names);
    let name = |cost: &FunctionCost| names.label(cost.label).name.as_str();
    let rank = |cost: &FunctionCost| (metric.order(cost.total), metric.order(cost.own));
    costs.sort_by(|a, b| rank(b).cmp(&rank(a)).then_with(|| natural(name(a), name(b))));
    costs
}

enum Visit {
    Enter(u32),
    Leave(LabelId),
}
