//! What to look at: one question, which every view answers in the same way.
//!
//! # Moments and ranges
//!
//! ```text
//!  events     1 2 3 4 5 6 7 8 9            in merged order, which is the truth
//!  at 6       ■ ■ ■ ■ ■ ■ · · ·            as if the recording had ended after event 6
//!  3 to 6     · · · ■ ■ ■ · · ·            events 4, 5 and 6
//! ```
//!
//! A moment lies between two events: time T is after the last event up to which none was later than T. What the numbers
//! mean there:
//!
//! | number | at a moment | in a range |
//! |---|---|---|
//! | allocated, freed, temporary | up to then | by events of the range, whenever the block was allocated |
//! | live: leaked, uncertain, left at exec | of what was allocated so far, not freed so far | of what was allocated in the range, not freed at its end |
//! | peak | what processes held then | the most that they held in the range, its beginning included, whoever allocated it |
//!
//! A process that has ended holds nothing, but what it did not free stays live: it never will be freed. So the flows of
//! ranges that lie side by side add up to those of the whole; the highest of their peaks is its peak; and between two
//! moments live blocks change by what was allocated less what was freed, and by what a gap hides. At the end of a
//! capture everything but the peak is as without a question. Processes that end later still run.
//!
//! # Which blocks
//!
//! A [`Filter`] says which blocks count. It does not change when the peak was, nor what is temporary. Everything it says must be true
//! of a block.
//!
//! # Which heap
//!
//! A heap of the programs' own (a pool) is counted instead of their allocators' when it is named: with the same events of
//! processes, threads and pauses, so moments and ranges are the same, and with a peak of its own.
//!
//! # How stacks are seen
//!
//! A [`Lens`] says which stacks a view shows, by an [`Expression`] over them, and what of each. Views know nothing of it:
//! they get a [`Loaded`](crate::Loaded) whose rows and stacks have changed, so an option has one meaning in all of them.
//!
//! Which number a view shows and sorts by is the view's own question: [`crate::analysis::Metric`].

mod filter;
mod select;
mod when;

pub mod expression;
pub mod lens;
mod pattern;

pub use expression::{Expression, Selection, SyntaxError};
pub(crate) use filter::bytes as bytes_of;
pub use filter::{Filter, Module, Selected, Sizes, SizesError, StackTest, Unknown};
pub use lens::{Grouping, Lens, Seen};
pub use pattern::Pattern;
pub(crate) use select::{Sieve, is_in, processes};
pub(crate) use when::shifted;
pub use when::{Anchor, When, WhenError};

/// Which part of a capture.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Part {
    /// All of it.
    #[default]
    Whole,
    /// What was there at a moment.
    At(When),
    /// What happened between two moments.
    Range(When, When),
}

/// What to look at.
#[derive(Default)]
pub struct Query {
    /// When.
    pub part: Part,
    /// Which blocks.
    pub filter: Filter,
    /// In which heap of the programs' own, by its name; none: in those of their allocators.
    pub heap: Option<String>,
    /// Whose hits are counted as [`crate::analysis::Metric::Traced`], by its name; none: those of the first tracepoint.
    pub tracepoint: Option<String>,
}

impl Query {
    /// All blocks of a part.
    pub fn of(part: Part) -> Self {
        Self { part, ..Self::default() }
    }
}
