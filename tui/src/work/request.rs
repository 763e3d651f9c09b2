//! What can be asked.

use std::path::PathBuf;
use viewer::analysis::{LabelId, Metric};
use viewer::query::{Anchor, Filter, Lens, Part, Query, When};

/// Which part of a capture, seen how, counted by what: what the user has chosen, and every page goes by.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Question {
    /// When.
    pub(crate) part: Part,
    /// Only what was allocated during the regions of this name.
    pub(crate) during: Option<String>,
    /// Which stacks.
    pub(crate) lens: Lens,
    /// Which numbers.
    pub(crate) metric: Metric,
}

impl Question {
    /// For the analysis.
    pub(crate) fn query(&self) -> Query {
        let during = self.during.iter().cloned().collect();
        Query { filter: Filter { during, ..Filter::default() }, ..Query::of(self.part.clone()) }
    }

    /// True when two questions need the same pass over the events.
    pub(crate) fn counts_like(&self, other: &Self) -> bool {
        self.part == other.part && self.during == other.during && self.lens == other.lens
    }
}

/// A moment by its time in nanoseconds.
pub(crate) fn at(time: u64) -> When {
    Anchor::Time(time).into()
}

/// What is compared with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    /// Two moments of the capture, in nanoseconds since the recording began.
    Moments(u64, u64),
    /// The capture that was given as the older one, and this one, by what is counted.
    Captures(Metric),
}

/// A page of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    /// What the recording found.
    Overview,
    /// Classes of sizes.
    Sizes,
    /// How long blocks live.
    Lifetimes,
    /// Threads and processes.
    Threads,
    /// What changed.
    Diff(Compare),
}

/// A page with a row for each of some stacks or lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListTopic {
    /// What was still allocated at the end, without what rules hide.
    Leaks,
    /// What was freed right after it was allocated.
    Temporary,
    /// Source lines.
    Lines,
    /// Marks of the programs, by name.
    Marks,
}

/// One question to the worker.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    /// Everything counted: the tree and the functions.
    View(Question),
    /// The tree from the allocating functions outwards.
    Inverted(Question),
    /// Who calls a function, and what it calls. The label is one of the view of this question.
    Function(Question, LabelId),
    /// What changed, as a tree.
    Changes(Compare),
    /// The heap over a range of time.
    History(Option<(u64, u64)>),
    /// A text in so many columns.
    Text(Topic, Question, u16),
    /// A function by its name, in so many columns.
    Detail(String, Question, u16),
    /// Rows of stacks.
    List(ListTopic, Question),
    /// A file of source.
    Source(PathBuf),
}
