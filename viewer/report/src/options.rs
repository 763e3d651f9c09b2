//! What a user can ask the views for.

use crate::table::Readers;
use analysis::{Amount, Cutoff, Metric, Share};
use engine::{Grouping, Loaded};

/// The form of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// A table of stacks, grouped by the function that allocates.
    #[default]
    Stacks,
    /// A table of functions with what they allocate themselves and with all they call.
    Functions,
    /// A tree from the root down.
    Tree,
    /// A tree from the allocating functions up to the root.
    Inverted,
}

/// What to show, and how much of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReportOptions {
    /// Which numbers.
    pub metric: Metric,
    /// In which form.
    pub shape: Shape,
    /// Rows smaller than this share of the total are summed up. None: 1 % in text and in inverted trees; no cutoff in
    /// JSON, nor for the processes, executables, commands and threads that a grouping shows instead of stacks.
    pub min: Option<Share>,
    /// Rows of a table, and children of a node, beyond this number are summed up as well. None: 20 in text, unlimited
    /// in JSON.
    pub limit: Option<usize>,
}

/// Whose stacks the view of resident memory lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResidentBy {
    /// The stacks that allocated what lies on resident pages.
    #[default]
    Allocation,
    /// The stacks that touched the pages first.
    Touch,
}

impl ReportOptions {
    const MIN: f64 = 1.0;
    const LIMIT: usize = 20;
    const FEW: usize = 5;

    /// The cutoff for people. There is none for processes, commands and threads: people ask which ones exist, and a
    /// share would hide some of them.
    pub(crate) fn cutoff_for_text(&self, loaded: &Loaded) -> Cutoff {
        let total = self.metric.of(&loaded.profile.total);
        let grouping = loaded.seen.as_ref().and_then(|seen| seen.group.as_ref());
        let usual = if grouping.is_some_and(Grouping::is_of_owner) { 0.0 } else { Self::MIN };
        let min = self.min.unwrap_or(Share::percent(usual));
        let few = if self.min.is_none() { Self::FEW } else { 0 };
        Cutoff { few, ..self.cutoff_of(total, min, self.limit.unwrap_or(Self::LIMIT)) }
    }

    /// The cutoff for programs. A full inverted tree has as many nodes as all stacks have frames, so it gets a
    /// default.
    pub(crate) fn cutoff_for_json(&self, total: Amount) -> Cutoff {
        let min = if self.shape == Shape::Inverted { Self::MIN } else { 0.0 };
        let min = self.min.unwrap_or(Share::percent(min));
        self.cutoff_of(total, min, self.limit.unwrap_or(usize::MAX))
    }

    /// The cutoff for these readers.
    pub(crate) fn cutoff(&self, loaded: &Loaded, readers: Readers) -> Cutoff {
        match readers {
            Readers::Programs => self.cutoff_for_json(self.metric.of(&loaded.profile.total)),
            Readers::All | Readers::People => self.cutoff_for_text(loaded),
        }
    }

    fn cutoff_of(&self, total: Amount, min: Share, limit: usize) -> Cutoff {
        Cutoff { least: min.least(self.metric.rank(total)), limit: limit.max(1), few: 0 }
    }
}

/// What to show of a comparison, and how much of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiffOptions {
    /// Which numbers.
    pub metric: Metric,
    /// As a tree from the root down, instead of a table of stacks.
    pub tree: bool,
    /// Changes smaller than this share of all changes are summed up. None: 1 % in text, nothing in JSON.
    pub min: Option<Share>,
    /// Rows of a table, and children of a node, beyond this number are summed up as well. None: 20 in text,
    /// nothing in JSON.
    pub limit: Option<usize>,
}

impl DiffOptions {
    /// The cutoff for these readers; `changes` is the sum of growth and shrinkage.
    pub(crate) fn cutoff(&self, changes: i64, readers: Readers) -> Cutoff {
        let (min, limit, few) = match readers {
            Readers::Programs => (0.0, usize::MAX, 0),
            _ => (ReportOptions::MIN, ReportOptions::LIMIT, ReportOptions::FEW),
        };
        let few = if self.min.is_none() { few } else { 0 };
        let min = self.min.unwrap_or(Share::percent(min));
        Cutoff { least: min.least(changes), limit: self.limit.unwrap_or(limit).max(1), few }
    }
}

/// How much of each event is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventOptions {
    /// Functions of each stack to show, from the innermost; 0 leaves stacks out.
    pub frames: usize,
    /// Leave template and generic arguments out of names.
    pub short_names: bool,
}

impl Default for EventOptions {
    fn default() -> Self {
        Self { frames: 8, short_names: false }
    }
}
