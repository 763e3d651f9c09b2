//! The cost of each source line.

use super::cost::Cost;
use super::frames::meaningful;
use super::names::{LabelId, Names};
use super::profile::Profile;
use super::spread::Spread;
use capture::{StringId, Tables};
use std::collections::BTreeMap;

/// One line that allocates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineCost {
    /// The source file; none where that is not known.
    pub file: Option<StringId>,
    /// The line in it.
    pub line: Option<u32>,
    /// The function; [`LabelId::EVERYTHING`] for stacks without any frame.
    pub label: LabelId,
    /// What is allocated there: the innermost line that is not the standard library's plumbing.
    pub cost: Cost,
    /// The variances of that.
    pub spread: Cost<Spread>,
}

/// What makes two lines the same.
type Place = (Option<StringId>, Option<u32>, LabelId);

/// The lines that allocated, in order of their files and numbers. Their sum is the profile's.
pub fn lines(profile: &Profile, tables: &Tables, names: &Names) -> Vec<LineCost> {
    let mut lines: BTreeMap<Place, (Cost, Cost<Spread>)> = BTreeMap::new();
    for (site, of_site) in profile.sites_with_spread() {
        let step = meaningful(tables, names, site.node).next().map(|(_, step)| step);
        let key = step.map_or((None, None, LabelId::EVERYTHING), |step| (step.file, step.line, step.label));
        let (cost, spread) = lines.entry(key).or_default();
        *cost += site.cost;
        *spread += of_site;
    }
    let rows = lines.into_iter();
    rows.map(|((file, line, label), (cost, spread))| LineCost { file, line, label, cost, spread }).collect()
}
