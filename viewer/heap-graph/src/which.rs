//! Selects a scan of a capture.

use analysis::query::Selected;

/// A scan of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WhichScan {
    /// The last one.
    #[default]
    Last,
    /// The one with this number, counted from 1.
    Number(usize),
    /// The last one of a process, or of all with this pid or name.
    Of(Selected),
}
