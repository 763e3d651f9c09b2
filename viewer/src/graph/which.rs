//! Which scan of a capture is meant.

use crate::query::Selected;

/// Which one, of those that a capture has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WhichScan {
    /// The last one.
    #[default]
    Last,
    /// The one of this number, counted from 1.
    Number(usize),
    /// The last one of a process, or of those that have this pid or name.
    Of(Selected),
}
