//! The line that shows how a search for names goes, when that takes long.

use crate::{message, terminal};
use collector::NameSearch;
use std::io::{Write, stderr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use viewer::format::count;

/// How long names are looked for without a word.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);
/// Time between two lines then.
pub(super) const PERIOD: Duration = Duration::from_millis(200);

/// A search and its line on the terminal, shared by who searches and who waits.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) search: Arc<NameSearch>,
    line: Arc<Mutex<Line>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// Nobody could see it, nobody wants it, or the search is over.
    Unwanted,
    Wanted,
    Drawn,
}

impl Shown {
    /// A search that begins; `quiet` ones have no line.
    pub(super) fn new(quiet: bool) -> Shown {
        let is_wanted = !quiet && terminal::progress_is_welcome();
        let line = if is_wanted { Line::Wanted } else { Line::Unwanted };
        Shown { search: Arc::default(), line: Arc::new(Mutex::new(line)) }
    }

    /// Whether there may be a line.
    pub(super) fn is_wanted(&self) -> bool {
        *self.line.lock().unwrap_or_else(PoisonError::into_inner) != Line::Unwanted
    }

    /// Draws the line anew.
    pub(super) fn draw(&self) {
        // Locked while it is drawn: once the search is over nothing is.
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

    /// Takes the line away, for ever.
    pub(super) fn clear(&self) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *line, Line::Unwanted) == Line::Drawn {
            let _ = write!(stderr().lock(), "\r\x1b[K");
        }
    }
}

/// What the line says; it fits into 80 columns.
fn text(progress: Option<(u64, u64)>) -> String {
    let how_far = match progress {
        Some((answered, wanted)) => format!(": {} of {}", count(answered), count(wanted)),
        None => String::new(),
    };
    format!("[names] looking them up{how_far}; ^C finishes without the rest")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check what the line says, and that it is short enough.
    #[test]
    fn line_says_how_far_it_is() {
        assert_eq!(text(None), "[names] looking them up; ^C finishes without the rest");
        let text = text(Some((1234, 1_048_576)));
        assert_eq!(text, "[names] looking them up: 1,234 of 1,048,576; ^C finishes without the rest");
        assert!(text.len() < 80);
    }
}
