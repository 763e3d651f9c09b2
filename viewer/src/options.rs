//! What the views can be asked for.

use crate::analysis::{Amount, Cutoff, Metric, Share};
use crate::loaded::Loaded;
use crate::query::Grouping;

/// The form of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// A table of stacks, grouped by the function that allocates.
    #[default]
    Stacks,
    /// A table of functions with what they allocate themselves and with all they call.
    Functions,
    /// A tree from the root inwards.
    Tree,
    /// A tree from the allocating functions outwards.
    Inverted,
}

/// What to show, and how much of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReportOptions {
    /// Which numbers.
    pub metric: Metric,
    /// In which form.
    pub shape: Shape,
    /// What is smaller than this share of the total is summed up. None: 1 % in text and in inverted trees, nothing in JSON, nor of
    /// processes, executables, commands and threads that stand for stacks.
    pub min: Option<Share>,
    /// Rows of a table, and children of a node, beyond this number are summed up as well. None: 20 in text,
    /// everything in JSON.
    pub limit: Option<usize>,
}

/// Whose stacks `resident` lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResidentBy {
    /// Those that allocated what lies on resident pages.
    #[default]
    Allocation,
    /// Those that touched pages first.
    Touch,
}

impl ReportOptions {
    const MIN: f64 = 1.0;
    const LIMIT: usize = 20;
    const FEW: usize = 5;

    /// What people read. Of processes, commands and threads people ask which ones there are: a share would hide those that the question
    /// is about.
    pub(crate) fn cutoff_for_text(&self, loaded: &Loaded) -> Cutoff {
        let total = self.metric.of(&loaded.profile.total);
        let grouping = loaded.seen.as_ref().and_then(|seen| seen.group);
        let usual = if grouping.is_some_and(Grouping::is_of_owner) { 0.0 } else { Self::MIN };
        let min = self.min.unwrap_or(Share::percent(usual));
        let few = if self.min.is_none() { Self::FEW } else { 0 };
        Cutoff { few, ..self.cutoff(total, min, self.limit.unwrap_or(Self::LIMIT)) }
    }

    /// What programs read. A full inverted tree has as many nodes as all stacks have frames, so it has a default.
    pub(crate) fn cutoff_for_json(&self, total: Amount) -> Cutoff {
        let min = if self.shape == Shape::Inverted { Self::MIN } else { 0.0 };
        let min = self.min.unwrap_or(Share::percent(min));
        self.cutoff(total, min, self.limit.unwrap_or(usize::MAX))
    }

    fn cutoff(&self, total: Amount, min: Share, limit: usize) -> Cutoff {
        Cutoff { least: min.least(self.metric.rank(total)), limit: limit.max(1), few: 0 }
    }
}

/// What to show of a comparison, and how much of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiffOptions {
    /// Which numbers.
    pub metric: Metric,
    /// As a tree, from the root inwards, instead of a table of stacks.
    pub tree: bool,
    /// Changes smaller than this share of all changes are summed up. None: 1 % in text, nothing in JSON.
    pub min: Option<Share>,
    /// Rows of a table, and children of a node, beyond this number are summed up as well. None: 20 in text,
    /// nothing in JSON.
    pub limit: Option<usize>,
}

impl DiffOptions {
    /// What people read; `changes` is what grew and what shrank together.
    pub(crate) fn cutoff_for_text(&self, changes: i64) -> Cutoff {
        let min = self.min.unwrap_or(Share::percent(ReportOptions::MIN));
        let few = if self.min.is_none() { ReportOptions::FEW } else { 0 };
        Cutoff { least: min.least(changes), limit: self.limit.unwrap_or(ReportOptions::LIMIT).max(1), few }
    }

    /// What programs read.
    pub(crate) fn cutoff_for_json(&self, changes: i64) -> Cutoff {
        let min = self.min.unwrap_or(Share::percent(0.0));
        Cutoff { least: min.least(changes), limit: self.limit.unwrap_or(usize::MAX).max(1), few: 0 }
    }
}

/// How much of each event `dump` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DumpOptions {
    /// Functions of a stack, from the innermost; 0 leaves stacks out.
    pub frames: usize,
    /// Functions are shown without their template and generic arguments.
    pub short_names: bool,
}

impl Default for DumpOptions {
    fn default() -> Self {
        Self { frames: 8, short_names: false }
    }
}
