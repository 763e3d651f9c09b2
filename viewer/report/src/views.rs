//! Views as tables: a file for each.
//!
//! A builder turns what the analysis found into a [`Document`]. It reads nothing, writes
//! nothing and formats nothing, so that the view is in every format at once.
//!
//! A view that needs no options of its own is one file, and one entry in [`VIEWS`]: the command line has a command for
//! each of them, and the terminal a page.

mod failed;
mod frees;
mod history;
mod holder;
mod invalid_frees;
mod lifetimes;
mod pages;
mod reallocs;
mod resident;
mod retained;
mod scan;
mod sizes;
mod temporary;
mod threads;

pub use failed::failed;
pub(crate) use failed::{asked_for, failed_in_all};
pub use frees::{endpoints, frees};
pub use history::history;
pub(crate) use holder::several_name;
pub use holder::{cycles, holder, kept_by, led_to, unreachable_too};
pub use invalid_frees::invalid_frees;
pub use lifetimes::lifetimes;
pub use pages::{head_of_pages, pages};
pub use reallocs::reallocs;
pub use resident::resident;
pub(crate) use retained::head_of_scan;
pub use retained::{UNREACHABLE, retained};
pub(crate) use scan::scan_fields;
pub use scan::{ScanHead, scanned_fields};
pub use sizes::sizes;
pub use temporary::temporary;
pub use threads::threads;

use crate::table::{Document, Value, phrase};
use analysis::Watch;
use analysis::query::{Expression, Query};
use capture::{Tables, ThreadId};
use engine::{Analyzer, Error, Loaded, Naming};

/// A view that can be asked for by its name.
#[derive(Debug)]
pub struct View {
    /// Its name.
    pub id: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// What else to know about it.
    pub more: &'static str,
    /// True if there is more to ask for than a question has, so that the command line has a command of its own.
    pub has_options: bool,
    /// Answers a question.
    pub ask: fn(Question<'_>) -> Result<(Loaded, Document), Error>,
}

/// Which blocks of a capture a view is to be about.
pub struct Question<'a> {
    /// The capture.
    pub analyzer: Analyzer,
    /// Which part of it.
    pub query: &'a Query,
    /// Which stacks.
    pub filter: Option<&'a Expression>,
    /// Where names come from.
    pub naming: Naming,
}

/// All of them.
pub const VIEWS: [&View; 4] = [&sizes::VIEW, &lifetimes::VIEW, &reallocs::VIEW, &threads::VIEW];

impl View {
    /// The view with this name.
    pub fn named(id: &str) -> Option<&'static View> {
        VIEWS.into_iter().find(|view| view.id == id)
    }
}

impl Question<'_> {
    /// What an observer sees of these blocks.
    ///
    /// # Errors
    /// Those of the analyzer.
    pub fn observe<W: Watch>(self, watch: impl FnOnce(&Tables) -> W) -> Result<(Loaded, W), Error> {
        self.analyzer.lifetimes(self.query, self.filter, self.naming, watch)
    }
}

/// `thread 5001 worker`, within a sentence.
fn thread_number(loaded: &Loaded, thread: ThreadId) -> Value {
    match loaded.tables.threads.get(thread.index()) {
        Some(row) if row.name.is_empty() => phrase!["thread ", Value::Id(row.tid.into())],
        Some(row) => phrase!["thread ", Value::Id(row.tid.into()), " ", row.name.clone()],
        None => "an unknown thread".into(),
    }
}
