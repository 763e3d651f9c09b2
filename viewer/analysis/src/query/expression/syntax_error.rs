//! A syntax error, and where it is.

use std::fmt;

/// The text is not an expression.
///
/// ```text
/// unknown field `modul` at column 9: use function, module, file, process, thread or call
///   foo and modul:libc
///           ^
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    text: String,
    /// In characters, from 0.
    offset: usize,
    what: String,
    advice: String,
}

impl SyntaxError {
    pub(super) fn new(text: &str, offset: usize, what: &str, advice: &str) -> Self {
        Self { text: text.to_owned(), offset, what: what.to_owned(), advice: advice.to_owned() }
    }

    /// Position of the error, in characters from 1.
    pub fn column(&self) -> usize {
        self.offset + 1
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A newline or another control character would displace the mark.
        let text: String =
            self.text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        writeln!(f, "{} at column {}: {}", self.what, self.column(), self.advice)?;
        write!(f, "  {text}\n  {:width$}^", "", width = self.offset)
    }
}

impl std::error::Error for SyntaxError {}
