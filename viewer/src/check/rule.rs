//! Rules, wherever they were written.

use super::measure::Measure;
use crate::analysis::Share;
use crate::query::{Expression, Part};
use crate::suppression::Suppressions;
use std::path::PathBuf;

/// All that a capture is checked against.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Rules, each with its part and its stacks.
    pub sections: Vec<Section>,
    /// An earlier capture, which must not be exceeded.
    pub baseline: Option<Baseline>,
    /// Leaks that do not count.
    pub suppressions: Suppressions,
}

/// Limits for some stacks in some part of a capture.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// What the user calls it.
    pub name: Option<String>,
    /// Stacks that count.
    pub filter: Option<Expression>,
    /// When.
    pub part: Part,
    /// The limits.
    pub limits: Limits,
    /// How far the baseline may be exceeded by this section's stacks; none where they are not compared with it.
    pub tolerance: Option<Share>,
}

/// The most that each measure may be; none where it does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits(Vec<(Measure, i64)>);

impl Limits {
    /// Sets a limit, if there is one.
    pub fn set(&mut self, measure: Measure, limit: Option<u64>) {
        if let Some(limit) = limit {
            self.0.push((measure, i64::try_from(limit).unwrap_or(i64::MAX)));
        }
    }

    /// The limits that were set.
    pub fn iter(&self) -> impl Iterator<Item = (Measure, i64)> + '_ {
        self.0.iter().copied()
    }

    /// True when a measure has one.
    pub(super) fn has(&self, measure: Measure) -> bool {
        self.iter().any(|(of, _)| of == measure)
    }

    /// True when none was set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// An earlier capture.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// The file.
    pub file: PathBuf,
    /// How far each of its numbers may be exceeded.
    pub tolerance: Share,
}

impl Baseline {
    /// What is compared.
    pub(super) const MEASURES: [Measure; 4] =
        [Measure::Peak, Measure::Leaked, Measure::Allocations, Measure::Temporary];
}

impl Rules {
    /// True when what is leaked counts.
    pub(super) fn asks_for_leaks(&self) -> bool {
        let mut limits = self.sections.iter().flat_map(|section| section.limits.iter());
        self.baseline.is_some() || limits.any(|(measure, _)| measure == Measure::Leaked)
    }

    /// True when there is nothing to check.
    pub fn is_empty(&self) -> bool {
        self.baseline.is_none() && self.sections.iter().all(|section| section.limits.is_empty())
    }
}
