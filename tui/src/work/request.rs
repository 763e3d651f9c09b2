//! What can be asked.

use crate::catalogue;
use std::path::PathBuf;
use viewer::analysis::{LabelId, Metric};
use viewer::format::duration;
use viewer::lives::Side;
use viewer::query::{Anchor, Filter, Lens, Part, Query, When};
use viewer::text::escape;

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

    /// What was chosen for all pages, but for what is counted.
    pub(crate) fn chosen(&self) -> Vec<String> {
        let mut words = Vec::new();
        match &self.part {
            Part::Whole => {}
            Part::At(when) => words.push(format!("at {}", moment(when))),
            Part::Range(from, to) => words.push(format!("{} to {}", moment(from), moment(to))),
        }
        if let Some(name) = &self.during {
            words.push(format!("during {}", escape(name)));
        }
        let lens = &self.lens;
        if let Some(filter) = &lens.filter {
            words.push(format!("only {}", escape(&filter.to_string())));
        }
        if !lens.focus.is_empty() {
            words.push(catalogue::FOCUSED.to_owned());
        }
        if !lens.transparent.is_empty() {
            words.push(catalogue::taken_out(lens.transparent.len()));
        }
        if let Some(group) = lens.group {
            words.push(format!("by {}", group.name()));
        }
        words
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

fn moment(when: &When) -> String {
    match when.anchor {
        Anchor::Time(time) => duration(time.saturating_add_signed(when.offset)),
        _ => catalogue::A_MOMENT.to_owned(),
    }
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
    /// Whose blocks lie on which pages of memory.
    Pages,
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
    /// Who frees whose blocks, from a side.
    Frees(Side),
    /// Source lines.
    Lines,
    /// Marks of the programs, by name.
    Marks,
    /// Scans of processes, by number.
    Scans,
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
    /// What the scan of this number found, counted from 1.
    Retained(usize),
    /// A file of source.
    Source(PathBuf),
}
