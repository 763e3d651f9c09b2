//! Rules, from whatever source.

use super::measure::Measure;
use crate::suppression::Suppressions;
use analysis::Share;
use analysis::query::{Expression, Part};
use std::path::PathBuf;

/// Everything that a capture is checked against.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Rules, each with its part of the capture and its stacks.
    pub sections: Vec<Section>,
    /// An earlier capture, which must not be exceeded.
    pub baseline: Option<Baseline>,
    /// Leaks that do not count.
    pub suppressions: Suppressions,
}

/// Limits for some stacks in some part of a capture.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The user's name for it.
    pub name: Option<String>,
    /// Stacks that count.
    pub filter: Option<Expression>,
    /// Which part of the capture.
    pub part: Part,
    /// Only blocks that were allocated in a region of this name.
    pub during: Option<String>,
    /// The limits.
    pub limits: Limits,
    /// How far this section's stacks may exceed the baseline; none if they are not compared with it.
    pub tolerance: Option<Share>,
}

/// The highest value allowed for each measure; measures without a limit are left out.
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

    /// True when a measure has a limit.
    pub(super) fn has(&self, measure: Measure) -> bool {
        self.iter().any(|(of, _)| of == measure)
    }

    /// True when no limit was set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// An earlier capture.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// The file.
    pub file: PathBuf,
    /// By how much each of its numbers may be exceeded.
    pub tolerance: Share,
}

impl Baseline {
    /// The measures that are compared.
    pub(super) const MEASURES: [Measure; 4] =
        [Measure::Peak, Measure::Leaked, Measure::Allocations, Measure::Temporary];
}

impl Rules {
    /// The sections that are compared with the baseline, besides everything.
    pub(super) fn compared(&self) -> impl Iterator<Item = &Section> {
        self.sections.iter().filter(|section| section.tolerance.is_some())
    }

    /// True when leaked memory is checked.
    pub(super) fn asks_for_leaks(&self) -> bool {
        let mut limits = self.sections.iter().flat_map(|section| section.limits.iter());
        self.baseline.is_some() || limits.any(|(measure, _)| measure == Measure::Leaked)
    }

    /// True when there is nothing to check.
    pub fn is_empty(&self) -> bool {
        self.baseline.is_none() && self.sections.iter().all(|section| section.limits.is_empty())
    }
}
