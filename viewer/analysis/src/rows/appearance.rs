//! Which stacks a reader can tell apart.

use super::stacks::{Row, rows, sort};
use crate::base::metric::Metric;
use crate::count::profile::Profile;
use crate::names::frames::call_kind;
use crate::names::table::{Names, Step};
use capture::{NodeId, Pseudo, Tables};
use hashbrown::HashMap;
use std::hash::Hash;

/// The stacks that cost anything in this metric, the most expensive first. Stacks that a reader cannot tell apart
/// form one row, represented by the most expensive: without lines, every place in a function shows the same name.
pub fn rows_as_read(profile: &Profile, tables: &Tables, names: &Names, metric: Metric) -> Vec<Row> {
    let appearance = Appearance::new(tables, names);
    let mut places: HashMap<Look, usize> = HashMap::new();
    let mut merged: Vec<Row> = Vec::new();
    for row in rows(profile, metric) {
        let look = appearance.of(row.node);
        match places.get(&look) {
            Some(&place) => {
                merged[place].cost += row.cost;
                merged[place].spread += row.spread;
            }
            None => {
                places.insert(look, merged.len());
                merged.push(row);
            }
        }
    }
    merged.retain(|row| !metric.of(&row.cost).is_zero());
    sort(&mut merged, metric);
    merged
}

/// What stacks look like to a reader.
pub(crate) struct Appearance<'a> {
    tables: &'a Tables,
    numbers: Vec<u32>,
}

/// Equal for stacks that look the same.
type Look = (Option<u32>, Option<Pseudo>);

impl<'a> Appearance<'a> {
    pub(crate) fn new(tables: &'a Tables, names: &Names) -> Self {
        Self { tables, numbers: numbers(tables, names, |step| (step.label, step.file, step.line)) }
    }

    pub(crate) fn of(&self, node: NodeId) -> Look {
        (self.numbers.get(node.index()).copied(), call_kind(self.tables, node))
    }
}

/// By node, a number that is equal for stacks with equal keys at every step.
// Cost: linear in the nodes: a stack's number follows from its caller's number and its own steps.
pub(crate) fn numbers<K: Hash + Eq>(tables: &Tables, names: &Names, key: impl Fn(&Step) -> K) -> Vec<u32> {
    let mut known: HashMap<(u32, K), u32> = HashMap::new();
    let mut of_node = vec![0; tables.nodes.len().max(1)];
    for (index, node) in tables.nodes.iter().enumerate().skip(1) {
        let mut number = of_node.get(node.parent.index()).copied().unwrap_or(0);
        for step in names.steps(node.frame).iter().rev() {
            let next = u32::try_from(known.len() + 1).expect("fewer steps than 2^32");
            number = *known.entry((number, key(step))).or_insert(next);
        }
        of_node[index] = number;
    }
    of_node
}
