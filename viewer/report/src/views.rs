//! Views as tables: a file for each.
//!
//! A builder turns what the analysis found into a [`Document`]. It reads nothing, writes
//! nothing and formats nothing, so that the view is in every format at once.
//!
//! A view that needs no options of its own is one file, and one entry in [`VIEWS`]: the command line has it as
//! `blocks --by` in every format, the terminal as a page, and the web report as a table.

mod allocator;
mod diff;
mod errors;
pub(crate) mod fields;
mod footnotes;
mod frees;
mod function;
mod history;
mod holder;
mod info;
mod leaks;
mod lifetimes;
mod lines;
mod mapped;
mod modules;
mod nothing;
mod numbers;
mod outside;
mod pages;
mod reallocs;
mod resident;
mod retained;
mod scan;
mod sizes;
mod snapshots;
mod summary;
mod temporary;
mod threads;
mod timeline;

pub use allocator::allocator;
pub use diff::diff;
pub(crate) use diff::{changed, losses};
pub use errors::errors;
pub(crate) use footnotes::footnotes;
pub use frees::{endpoints, frees};
pub use function::function;
pub use history::history;
pub(crate) use holder::several_name;
pub use holder::{holder, led_to};
pub use info::{info, scans};
pub use leaks::leaks;
pub use lifetimes::lifetimes;
pub use lines::lines;
pub use mapped::mapped;
pub use nothing::subject;
pub(crate) use nothing::{nothing, unsampled};
pub(crate) use numbers::{Numbers, heads};
pub(crate) use outside::outside_of_heap;
pub use pages::{head_of_pages, pages};
pub use reallocs::reallocs;
pub use resident::resident;
pub(crate) use retained::head_of_scan;
pub use retained::{UNREACHABLE, retained, retained_at};
pub use scan::{ScanHead, scanned_fields};
pub use sizes::sizes;
pub(crate) use snapshots::{ERROR, after_end, snapshot_note};
pub use summary::summary;
pub use temporary::temporary;
pub use threads::threads;
pub use timeline::timeline;

use crate::table::{Document, Value, phrase};
use analysis::Watch;
use analysis::lifetimes::{Observer, Several};
use analysis::query::{Expression, Query};
use capture::{Tables, ThreadId};
use engine::lens::Lens;
use engine::{Analyzer, Error, Loaded, Naming};

/// A view that can be asked for by its name.
#[derive(Debug)]
pub struct View {
    /// Its name.
    pub id: &'static str,
    /// What its rows are, in a word.
    pub by: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// Where its numbers come from.
    pub(crate) source: Source,
}

/// Where the numbers of a view come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// The sums of each stack, which are there in any case.
    Sums(fn(&Loaded) -> Document),
    /// An observer of blocks: in a pass of its own, or among others.
    Blocks(
        fn(Question<'_>) -> Result<(Loaded, Document), Error>,
        fn(&Tables) -> Box<dyn Observer<Loaded, Document>>,
    ),
}

/// The observer that `watch` makes of a capture's tables, and the document that `document` makes of what it found.
macro_rules! of_blocks {
    ($watch:expr, $document:expr) => {
        $crate::views::Source::Blocks(
            |question| {
                let (loaded, found) = question.observe($watch)?;
                let document = $document(&loaded, found);
                Ok((loaded, document))
            },
            |tables| analysis::lifetimes::observer($watch(tables), $document),
        )
    };
}
use of_blocks;

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
pub const VIEWS: [&View; 7] = [
    &sizes::VIEW,
    &lifetimes::VIEW,
    &reallocs::VIEW,
    &threads::VIEW,
    &modules::VIEW,
    &temporary::VIEW,
    &mapped::VIEW,
];

impl View {
    /// The view with this name.
    pub fn named(id: &str) -> Option<&'static View> {
        VIEWS.into_iter().find(|view| view.id == id)
    }

    /// Whether it can be of some blocks of a stack only, as those of a thread or of a size: what is mapped is not
    /// followed that far.
    pub fn divides_stacks(&self) -> bool {
        self.id != mapped::VIEW.id
    }

    /// The view with such rows.
    pub fn by(word: &str) -> Option<&'static View> {
        VIEWS.into_iter().find(|view| view.by == word)
    }

    /// Answers a question.
    ///
    /// # Errors
    /// Those of the analyzer.
    pub fn ask(&self, question: Question<'_>) -> Result<(Loaded, Document), Error> {
        match self.source {
            Source::Blocks(alone, _) => alone(question),
            Source::Sums(document) => {
                let lens = Lens { filter: question.filter.cloned(), ..Lens::default() };
                let loaded = question.analyzer.seen(question.query, &lens, question.naming)?;
                let document = document(&loaded);
                Ok((loaded, document))
            }
        }
    }
}

/// The observers of all views that need one, in a single pass.
pub type Observed = Several<Loaded, Document>;

/// These observers, which were told nothing yet.
pub fn observers(tables: &Tables) -> Observed {
    let observers = VIEWS.into_iter().filter_map(|view| match view.source {
        Source::Blocks(_, observer) => Some(observer(tables)),
        Source::Sums(_) => None,
    });
    Several::new(observers.collect())
}

/// All views; those of which the observers were told nothing are missing.
pub fn all(
    loaded: &Loaded,
    observed: Option<Observed>,
) -> impl Iterator<Item = (&'static View, Option<Document>)> {
    let mut found = observed.map(|observed| observed.finish(loaded));
    VIEWS.into_iter().map(move |view| match view.source {
        Source::Sums(document) => (view, Some(document(loaded))),
        Source::Blocks(..) => (view, found.as_mut().and_then(Iterator::next)),
    })
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
