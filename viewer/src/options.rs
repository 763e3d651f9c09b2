//! What `report` can be asked for.

use crate::analysis::{Metric, Share};

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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReportOptions {
    /// Which numbers.
    pub metric: Metric,
    /// In which form.
    pub shape: Shape,
    /// What is smaller than this share of the total is summed up in one row.
    pub min: Share,
    /// Rows of a table, and children of a node, beyond this number are summed up as well.
    pub limit: usize,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self { metric: Metric::default(), shape: Shape::default(), min: Share::percent(1.0), limit: 20 }
    }
}
