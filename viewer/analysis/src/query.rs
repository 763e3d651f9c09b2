//! What to look at: one question, which every view answers in the same way.
//!
//! # Moments and ranges
//!
//! ```text
//!  events     1 2 3 4 5 6 7 8 9            in merged order, which is authoritative
//!  at 6       ■ ■ ■ ■ ■ ■ · · ·            as if the recording had ended after event 6
//!  3 to 6     · · · ■ ■ ■ · · ·            events 4, 5 and 6
//! ```
//!
//! A moment lies between two events: time T lies just before the first event that is later than T. What the numbers
//! mean there:
//!
//! | number | at a moment | in a range |
//! |---|---|---|
//! | allocated, freed, temporary | up to then | by events of the range, whenever the block was allocated |
//! | live: leaked, uncertain, left at exec | of what was allocated so far, not freed so far | of what was allocated in the range, not freed at its end |
//! | peak | what processes held then | the most that they held in the range, including at its beginning, whenever it was allocated |
//!
//! A process that has ended holds nothing, but what it did not free stays live: it will never be freed. So the flows
//! of adjacent ranges add up to those of the whole; the highest of their peaks is its peak; and between two moments
//! live blocks change by what was allocated less what was freed, and by what a gap hides. At the end of a capture
//! everything but the peak is as without a question. At a moment, processes that end later are still running.
//!
//! # Which blocks
//!
//! A [`Filter`] says which blocks count. It changes neither when the peak was, nor what is temporary. A block must
//! meet all its conditions.
//!
//! # Which heap
//!
//! If a pool, a heap that the programs manage themselves, is named, it is counted instead of their allocators' heaps:
//! with the same events of processes, threads and pauses, so moments and ranges are the same, and with a peak of its
//! own.
//!
//! # How stacks are seen
//!
//! A lens says which stacks a view shows, by an [`Expression`] over them, and what of each. Views do not know about it:
//! they get a loaded capture whose rows and stacks have changed, so an option means the same in
//! all of them.
//!
//! Which number a view shows and sorts by is a matter of the view: [`crate::base::metric::Metric`].

mod filter;
mod label;
mod select;
mod when;

pub mod expression;
mod pattern;
mod unmatched;

pub use expression::{Expression, Selection, SyntaxError};
pub use filter::bytes as bytes_of;
pub use filter::{Filter, Selected, Sizes, SizesError, StackTest, Unknown};
pub use label::{LabelError, Labelled, label, label_names};
pub use pattern::Pattern;
pub use select::{BlockFilter, is_in, processes};
pub use unmatched::{Unmatched, nearest};
pub use when::shifted;
pub use when::{Anchor, When, WhenError};

/// A part of a capture.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Part {
    /// All of it.
    #[default]
    Whole,
    /// What was live at a moment.
    At(When),
    /// What happened between two moments.
    Range(When, When),
}

/// What to look at.
#[derive(Default)]
pub struct Query {
    /// Which part of the capture.
    pub part: Part,
    /// Which blocks.
    pub filter: Filter,
    /// In which pool, by its name; none: in the heaps of the allocators.
    pub heap: Option<String>,
}

impl Query {
    /// All blocks of a part.
    pub fn of(part: Part) -> Self {
        Self { part, ..Self::default() }
    }
}
