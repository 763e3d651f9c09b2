//! Stacks as rows of a table, grouped by the function that allocates.

use crate::base::cost::Cost;
use crate::base::metric::Metric;
use crate::base::order::natural;
use crate::base::spread::Spread;
use crate::count::profile::Profile;
use crate::names::frames::meaningful;
use crate::names::table::{LabelId, Names};
use capture::{NodeId, Tables};
use std::cmp::Reverse;
use std::collections::HashMap;

/// One stack, over all processes that used it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The stack.
    pub node: NodeId,
    /// What it cost.
    pub cost: Cost,
    /// The variances of `cost`.
    pub spread: Cost<Spread>,
}

/// The stacks of one allocating function.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The function; [`LabelId::EVERYTHING`] for stacks without any frame.
    pub label: LabelId,
    /// The sum of its rows.
    pub cost: Cost,
    /// The variances of `cost`.
    pub spread: Cost<Spread>,
    /// Its stacks, the most expensive first.
    pub rows: Vec<Row>,
}

/// The stacks that cost anything in this metric, the most expensive first.
// Cost: two sorts of small keys. Rows are large, and a map of them would be copied each time it grows.
pub fn rows(profile: &Profile, metric: Metric) -> Vec<Row> {
    let sites = &profile.sites;
    let mut order: Vec<usize> = (0..sites.len()).collect();
    order.sort_by_cached_key(|&site| sites[site].node);
    let sums = order.chunk_by(|&a, &b| sites[a].node == sites[b].node).map(|of_stack| {
        let mut row = Row { node: sites[of_stack[0]].node, cost: Cost::default(), spread: Cost::default() };
        for &site in of_stack {
            row.cost += sites[site].cost;
            row.spread += profile.spread(site);
        }
        row
    });
    let mut rows: Vec<Row> = sums.filter(|row| !metric.of(&row.cost).is_zero()).collect();
    sort(&mut rows, metric);
    rows
}

/// Sorts the most expensive first.
pub(crate) fn sort(rows: &mut [Row], metric: Metric) {
    rows.sort_by_cached_key(|row| (Reverse(metric.order(metric.of(&row.cost))), row.node));
}

/// The rows grouped by allocating function: the innermost one that is not library frames. The most
/// expensive first; equal ones by name.
pub fn groups(rows: &[Row], tables: &Tables, names: &Names, metric: Metric) -> Vec<Group> {
    let mut places: HashMap<LabelId, usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for row in rows {
        let first = meaningful(tables, names, row.node).next();
        let label = first.map_or(LabelId::EVERYTHING, |(_, step)| step.label);
        let place = *places.entry(label).or_insert_with(|| {
            groups.push(Group { label, cost: Cost::default(), spread: Cost::default(), rows: Vec::new() });
            groups.len() - 1
        });
        groups[place].cost += row.cost;
        groups[place].spread += row.spread;
        groups[place].rows.push(*row);
    }
    groups.sort_by(|a, b| {
        let rank = |group: &Group| metric.order(metric.of(&group.cost));
        let name = |group: &Group| names.label(group.label).name.as_str();
        rank(b).cmp(&rank(a)).then_with(|| natural(name(a), name(b)))
    });
    groups
}
