//! A line that the user types.

use crate::catalogue;

/// What the line is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To go to functions of this name.
    Search,
    /// To show only some stacks.
    Filter,
    /// To write the page into a file.
    File,
}

impl Purpose {
    /// The text before the line.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Purpose::Search => catalogue::SEARCH,
            Purpose::Filter => catalogue::FILTER,
            Purpose::File => catalogue::FILE,
        }
    }
}

/// The line as typed so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prompt {
    /// What the line is for.
    pub(crate) purpose: Purpose,
    /// The text.
    pub(crate) text: String,
    /// Why the last input was refused.
    pub(crate) error: Option<String>,
}

impl Prompt {
    /// A line that begins with this text.
    pub(crate) fn new(purpose: Purpose, text: String) -> Self {
        Self { purpose, text, error: None }
    }
}
