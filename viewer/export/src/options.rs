//! What to export.

use crate::format::Format;
use analysis::{Metric, Share};

/// What to export, and how much of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportOptions {
    /// The format.
    pub format: Format,
    /// The metric, for a format with only one ([`Format::holds_one_metric`]), or the one shown first, for a format
    /// with all of them.
    pub metric: Metric,
    /// Functions and calls below this share of the total are left out of a drawing: see [`Format::is_cut`].
    pub min: Option<Share>,
    /// Most functions that are drawn.
    pub limit: Option<usize>,
}

impl ExportOptions {
    /// The whole capture in this format.
    pub fn new(format: Format) -> Self {
        Self { format, metric: Metric::default(), min: None, limit: None }
    }
}
