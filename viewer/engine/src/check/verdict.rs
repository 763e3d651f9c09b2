//! What a check has found.

use super::culprits::Culprits;
use super::measure::Measure;
use crate::loaded::Loaded;
use analysis::Share;
use capture::NodeId;

/// The result of a check.
#[derive(Debug, Default)]
pub struct Report {
    /// The capture, as the user named it.
    pub file: String,
    /// The recorded program, without its folder: the same in each recording, as the name of the file may not be.
    pub program: String,
    /// One per rule, in order.
    pub verdicts: Vec<Verdict>,
    /// Why the numbers may be too low, one sentence each.
    pub warnings: Vec<String>,
    /// What the stacks of broken rules are from.
    pub(super) loaded: Vec<Loaded>,
}

/// The result of one rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The user's name for it, if any.
    pub name: Option<String>,
    /// The filter for stacks, as it was written.
    pub filter: Option<String>,
    /// What was measured.
    pub measure: Measure,
    /// The measured value.
    pub actual: i64,
    /// The most that it may be.
    pub limit: i64,
    /// What the limit was derived from: the number of an earlier capture, and by how much it may be exceeded.
    pub baseline: Option<(i64, Share)>,
    /// Why the true value may be on the other side of the limit.
    pub doubt: Option<String>,
    /// It may be lower than measured, too, and not only higher.
    pub may_be_less: bool,
    /// Of a broken rule, the stacks to blame.
    pub culprits: Culprits,
}

/// Whether rules hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// They hold.
    Kept,
    /// No number exceeds its limit for certain, but the capture is incomplete, or sampled.
    Untold,
    /// A number exceeds its limit, whatever is missing, and by more than an error of estimates.
    Broken,
}

impl Outcome {
    /// The answer, if there is one.
    pub fn is_kept(self) -> Option<bool> {
        match self {
            Outcome::Kept => Some(true),
            Outcome::Untold => None,
            Outcome::Broken => Some(false),
        }
    }
}

impl Verdict {
    /// Whether the rule holds.
    pub fn outcome(&self) -> Outcome {
        match (self.actual <= self.limit, &self.doubt) {
            (false, Some(_)) if self.may_be_less => Outcome::Untold,
            (false, _) => Outcome::Broken,
            (true, Some(_)) => Outcome::Untold,
            (true, None) => Outcome::Kept,
        }
    }

    /// True when the amounts of its stacks are what these have grown by since the baseline.
    pub fn blames_growth(&self) -> bool {
        self.culprits.are_changes
    }
}

impl Report {
    /// Whether all rules hold: the worst outcome of any.
    pub fn outcome(&self) -> Outcome {
        self.verdicts.iter().map(Verdict::outcome).max().unwrap_or(Outcome::Kept)
    }

    /// The stacks to blame for a broken rule, the most first: each with its part of the number, or of what that has
    /// grown by since the baseline.
    pub fn culprits<'r>(
        &'r self,
        verdict: &'r Verdict,
    ) -> impl Iterator<Item = (&'r Loaded, NodeId, i64)> + 'r {
        let loaded = self.loaded.get(verdict.culprits.loaded);
        verdict.culprits.rows.iter().filter_map(move |&(node, amount)| Some((loaded?, node, amount)))
    }
}
