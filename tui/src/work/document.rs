//! A text of the viewer, as lines of styled pieces.

use report::text::Line;

/// A page of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Document {
    /// The lines, from top to bottom.
    pub(crate) lines: Vec<Line>,
}

impl Document {
    /// The text without roles.
    pub(crate) fn plain(&self) -> String {
        let line = |line: &Line| line.iter().map(|(_, text)| text.as_str()).collect::<String>();
        self.lines.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}
