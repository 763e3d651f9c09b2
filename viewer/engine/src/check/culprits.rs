//! The stacks to blame for a broken rule.

use super::measure::Measure;
use super::rule::Section;
use super::sums::{Source, Sums};
use crate::compare::compare_shown;
use crate::error::Error;
use crate::lens::Lens;
use crate::loaded::Loaded;
use analysis::lifetimes::Cause;
use analysis::query::Part;
use analysis::{Spelling, rows_as_read};
use capture::NodeId;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How many are named.
const MOST: usize = 3;

/// Invalid frees that are looked at.
const MOST_FREES: usize = 1000;

/// The stacks to blame for a broken rule, the most first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Culprits {
    /// What they are stacks of, among all that was read for the check.
    pub(super) loaded: usize,
    /// Each with its part of the number.
    pub(super) rows: Vec<(NodeId, i64)>,
    /// They are not parts of the number, but of what that has grown by since the baseline.
    pub(super) are_changes: bool,
}

impl Culprits {
    fn new(loaded: usize, rows: impl IntoIterator<Item = (NodeId, i64)>) -> Self {
        let mut rows: Vec<_> = rows.into_iter().filter(|(_, amount)| *amount > 0).collect();
        rows.sort_by_key(|(_, amount)| Reverse(*amount));
        rows.truncate(MOST);
        Self { loaded, rows, are_changes: false }
    }

    /// Those that have most of a number.
    pub(super) fn of(sums: &mut Sums<'_>, section: &Section, measure: Measure) -> Result<Self, Error> {
        let Some(metric) = measure.metric() else { return Self::of_calls(sums, section, measure) };
        let place = sums.place(&Source::of(section, measure))?;
        let Loaded { profile, tables, names, .. } = sums.loaded(place);
        let mut profile = profile.clone();
        if let Some(filter) = &section.filter {
            let mut selection = filter.select(tables, names);
            profile
                .keep(|site| selection.contains(site.process, site.thread, site.node).then_some(site.node));
        }
        let rows = rows_as_read(&profile, tables, names, metric);
        Ok(Self::new(place, rows.iter().map(|row| (row.node, measure.of(&row.cost)))))
    }

    /// Those that have grown most since another capture.
    pub(super) fn since(
        before: &Sums<'_>,
        sums: &mut Sums<'_>,
        section: &Section,
        measure: Measure,
    ) -> Result<Self, Error> {
        let Some(metric) = measure.metric() else { return Ok(Self::default()) };
        let source = Source::of(section, measure);
        let lens = Lens { filter: section.filter.clone(), ..Lens::default() };
        let compared = compare_shown(before.read(&source)?, sums.read(&source)?, &lens, Spelling::Exact);
        let Loaded { tables, names, .. } = &compared.loaded;
        let rows = compared.diff.changed_as_read(tables, names, metric);
        let rows: Vec<_> = rows.iter().map(|row| (row.node, measure.of(&row.delta()))).collect();
        Ok(Self { are_changes: true, ..Self::new(sums.keep(compared.loaded), rows) })
    }

    /// Those that made most calls which are part of no cost.
    fn of_calls(sums: &mut Sums<'_>, section: &Section, measure: Measure) -> Result<Self, Error> {
        let mut calls: BTreeMap<NodeId, i64> = BTreeMap::new();
        let place = sums.place(&Source::of(section, measure))?;
        if measure == Measure::Failed {
            for failure in &sums.loaded(place).profile.failures {
                *calls.entry(failure.node).or_default() += i64::try_from(failure.calls).unwrap_or(i64::MAX);
            }
            return Ok(Self::new(place, calls));
        }
        let (analyzer, naming) = sums.analyzer()?;
        let (loaded, frees, _) = analyzer.invalid_frees(&Part::Whole, MOST_FREES, naming)?;
        for row in frees {
            // Without the stack of the free, that of the block still leads to it.
            let of_block = match row.cause {
                Cause::Twice(block, _) | Cause::Inside(block) => block.stack,
                Cause::Unknown => NodeId::ROOT,
            };
            let stack = if row.free.stack == NodeId::ROOT { of_block } else { row.free.stack };
            *calls.entry(stack).or_default() += 1;
        }
        Ok(Self::new(sums.keep(loaded), calls))
    }
}
