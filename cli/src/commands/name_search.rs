//! The line that shows the progress of a slow search for names.

use crate::{message, terminal};
use analysis::format::count;
use collector::NameSearch;
use std::io::{Write, stderr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a search runs before the line appears.
pub(super) const DELAY: Duration = Duration::from_secs(1);
/// Time between two updates of the line.
pub(super) const PERIOD: Duration = Duration::from_millis(200);

/// A search and its line on the terminal, shared by the searching and the waiting thread.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) search: Arc<NameSearch>,
    line: Arc<Mutex<Line>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// There is no terminal, the user wants no line, or the search is over.
    Unwanted,
    Wanted,
    Drawn,
}

impl Shown {
    /// Begins a search; if `quiet`, there is no line.
    pub(super) fn new(quiet: bool) -> Shown {
        let is_wanted = !quiet && terminal::progress_is_welcome();
        let line = if is_wanted { Line::Wanted } else { Line::Unwanted };
        Shown { search: Arc::default(), line: Arc::new(Mutex::new(line)) }
    }

    /// Whether the line may be drawn.
    pub(super) fn is_wanted(&self) -> bool {
        *self.line.lock().unwrap_or_else(PoisonError::into_inner) != Line::Unwanted
    }

    /// Redraws the line.
    pub(super) fn draw(&self) {
        // Locked while drawing: once the search is over, nothing may be drawn.
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        if *line != Line::Unwanted {
            let _ = write!(stderr().lock(), "\r{}\x1b[K\r", text(self.search.progress()));
            *line = Line::Drawn;
        }
    }

    /// Ends the search early.
    pub(super) fn give_up(&self) {
        if !self.search.give_up() {
            self.clear();
            message::note("finishing the capture without the names that are still missing");
        }
    }

    /// Removes the line for good.
    pub(super) fn clear(&self) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *line, Line::Unwanted) == Line::Drawn {
            let _ = write!(stderr().lock(), "\r\x1b[K");
        }
    }
}

/// The text of the line, which fits into 80 columns.
fn text(progress: Option<(u64, u64)>) -> String {
    let how_far = match progress {
        Some((answered, wanted)) => format!(": {} of {}", count(answered), count(wanted)),
        None => String::new(),
    };
    format!("[names] looking them up{how_far}; ^C skips the rest")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check the text of the line, and that it is short enough.
    #[test]
    fn line_says_how_far_it_is() {
        assert_eq!(text(None), "[names] looking them up; ^C skips the rest");
        let text = text(Some((1234, 1_048_576)));
        assert_eq!(text, "[names] looking them up: 1,234 of 1,048,576; ^C skips the rest");
        assert!(text.len() < 80);
    }
}
