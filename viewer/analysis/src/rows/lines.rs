//! The cost of each source line.

use crate::base::cost::Cost;
use crate::base::metric::Metric;
use crate::base::spread::Spread;
use crate::count::profile::Profile;
use crate::names::frames::{functions_of, meaningful};
use crate::names::table::{LabelId, Names, Step};
use capture::{NodeId, StringId, Tables};
use std::collections::BTreeMap;

/// One line that allocates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineCost {
    /// The source file; none if unknown.
    pub file: Option<StringId>,
    /// The line in it.
    pub line: Option<u32>,
    /// The function; [`LabelId::EVERYTHING`] for stacks without any frame.
    pub label: LabelId,
    /// What is allocated there: at the innermost line that is not library frames.
    pub cost: Cost,
    /// The variances of `cost`.
    pub spread: Cost<Spread>,
}

/// What makes two lines the same.
type Place = (Option<StringId>, Option<u32>, LabelId);

/// The lines that allocated, ordered by file and line number. They add up to the profile's total.
pub fn lines(profile: &Profile, tables: &Tables, names: &Names) -> Vec<LineCost> {
    sums(profile, |node| Some(meaningful(tables, names, node).next().map(|(_, step)| step)))
}

/// The lines of functions at which they allocated or called a function that did, in the same order. A stack on which
/// they occur several times is charged to the innermost line, one without any of them to none.
pub fn lines_of(
    profile: &Profile,
    tables: &Tables,
    names: &Names,
    is_one: impl Fn(LabelId) -> bool,
) -> Vec<LineCost> {
    let innermost =
        |node| functions_of(tables, names, node).map(|(_, step)| step).find(|step| is_one(step.label));
    sums(profile, |node| innermost(node).map(Some))
}

/// Where a function is: its file, and the line through which most of its cost in a metric passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionPlace {
    /// The source file; none if unknown.
    pub file: Option<StringId>,
    /// The line in it; the first of several with the same cost.
    pub line: Option<u32>,
}

/// By label, where its function is. As in [`lines_of`], a stack is charged to the innermost line of each function. A
/// place with a file takes precedence over one without: code compiled without line tables has nothing more to tell.
// Cost: linear in rows times the depth of their stacks.
pub fn places_of_functions(
    profile: &Profile,
    tables: &Tables,
    names: &Names,
    metric: Metric,
) -> Vec<FunctionPlace> {
    let mut costs: BTreeMap<(LabelId, Option<StringId>, Option<u32>), i64> = BTreeMap::new();
    // By label, the last row whose stack contained it.
    let mut met: Vec<usize> = vec![0; names.len()];
    for (row, site) in (1..).zip(&profile.sites) {
        let rank = metric.rank(metric.of(&site.cost));
        if rank == 0 {
            continue;
        }
        for (_, step) in functions_of(tables, names, site.node) {
            if std::mem::replace(&mut met[step.label.index()], row) != row {
                *costs.entry((step.label, step.file, step.line)).or_default() += rank;
            }
        }
    }
    let mut places = vec![(FunctionPlace::default(), (false, false, i64::MIN)); names.len()];
    for ((label, file, line), cost) in costs {
        let key = (file.is_some(), line.is_some(), cost);
        let (place, best) = &mut places[label.index()];
        if key > *best {
            (*place, *best) = (FunctionPlace { file, line }, key);
        }
    }
    places.into_iter().map(|(place, _)| place).collect()
}

/// By node, whether a function is on its stack.
pub fn passing_through(tables: &Tables, names: &Names, label: LabelId) -> Vec<bool> {
    let mut passes = vec![false; tables.nodes.len()];
    // Parents come before their children.
    for (index, node) in tables.nodes.iter().enumerate().skip(1) {
        let is_above = passes.get(node.parent.index()) == Some(&true);
        passes[index] = is_above || names.steps(node.frame).iter().any(|step| step.label == label);
    }
    passes
}

/// Sums by line; `line` returns the line that a stack is charged to, or none if it is charged to no line.
fn sums(profile: &Profile, line: impl Fn(NodeId) -> Option<Option<Step>>) -> Vec<LineCost> {
    let mut lines: BTreeMap<Place, (Cost, Cost<Spread>)> = BTreeMap::new();
    for (site, of_site) in profile.sites_with_spread() {
        let Some(step) = line(site.node) else { continue };
        let key = step.map_or((None, None, LabelId::EVERYTHING), |step| (step.file, step.line, step.label));
        let (cost, spread) = lines.entry(key).or_default();
        *cost += site.cost;
        *spread += of_site;
    }
    let rows = lines.into_iter();
    rows.map(|((file, line, label), (cost, spread))| LineCost { file, line, label, cost, spread }).collect()
}
