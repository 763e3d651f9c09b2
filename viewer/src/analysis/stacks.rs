//! Stacks as rows of a table, grouped by the function that allocates.

use super::cost::Cost;
use super::frames::meaningful;
use super::metric::Metric;
use super::names::{LabelId, Names};
use super::order::natural;
use super::profile::Profile;
use super::spread::Spread;
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
    /// The variances of that.
    pub spread: Cost<Spread>,
}

/// The stacks of one allocating function.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The function; [`LabelId::EVERYTHING`] for stacks without any frame.
    pub label: LabelId,
    /// The sum of its rows.
    pub cost: Cost,
    /// The variances of that.
    pub spread: Cost<Spread>,
    /// Its stacks, the most expensive first.
    pub rows: Vec<Row>,
}

/// The stacks that cost anything in this metric, the most expensive first.
pub fn rows(profile: &Profile, metric: Metric) -> Vec<Row> {
    let mut by_node: HashMap<NodeId, (Cost, Cost<Spread>)> = HashMap::new();
    for (site, of_site) in profile.sites_with_spread() {
        let (cost, spread) = by_node.entry(site.node).or_default();
        *cost += site.cost;
        *spread += of_site;
    }
    let rows = by_node.into_iter().filter(|(_, (cost, _))| !metric.of(cost).is_zero());
    let mut rows: Vec<Row> = rows.map(|(node, (cost, spread))| Row { node, cost, spread }).collect();
    sort(&mut rows, metric);
    rows
}

/// Puts the most expensive first.
pub(super) fn sort(rows: &mut [Row], metric: Metric) {
    rows.sort_unstable_by_key(|row| (Reverse(metric.order(metric.of(&row.cost))), row.node));
}

/// The same by allocating function: the innermost one that is not the standard library's plumbing. The most
/// expensive first; those that cost the same by name.
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
