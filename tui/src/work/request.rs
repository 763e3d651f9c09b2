//! Requests to the worker.

use crate::catalogue;
use analysis::format::duration;
use analysis::lifetimes::Side;
use analysis::query::{Anchor, Filter, Part, Query, When};
use analysis::{LabelId, Metric};
use engine::lens::Lens;
use report::text::escape;
use std::path::PathBuf;

/// Which part of a capture to show, how, and by which metric: the user's choice, which all pages follow.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Question {
    /// The part of the time.
    pub(crate) part: Part,
    /// Only what was allocated during the regions of this mark.
    pub(crate) during: Option<String>,
    /// Which stacks to show, and how.
    pub(crate) lens: Lens,
    /// The metric.
    pub(crate) metric: Metric,
}

impl Question {
    /// The query for the analysis.
    pub(crate) fn query(&self) -> Query {
        let during = self.during.iter().cloned().collect();
        Query { filter: Filter { during, ..Filter::default() }, ..Query::of(self.part.clone()) }
    }

    /// The choices for all pages, except the metric.
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
        if lens.my_code {
            words.push(catalogue::MY_CODE.to_owned());
        }
        if let Some(group) = &lens.group {
            words.push(format!("by {}", group.name()));
        }
        words
    }

    /// True when both questions need the same pass over the events.
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

/// The two sides of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    /// Two moments of the capture, in nanoseconds since the recording began.
    Analyzer(u64, u64),
    /// The older capture and this one, by this metric.
    Captures(Metric),
}

/// A page of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    /// What the recording found.
    Overview,
    /// A view of single blocks, by its name.
    View(&'static str),
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
    /// Temporary allocations.
    Temporary,
    /// Who frees whose blocks, by this side.
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
    /// The callers and callees of a function. The label belongs to the view of this question.
    Function(Question, LabelId),
    /// The changes, as a tree.
    Changes(Compare),
    /// The heap over a range of time; none for all of it.
    History(Option<(u64, u64)>),
    /// A text, laid out for a width in columns.
    Text(Topic, Question, u16),
    /// A function by name, laid out for a width in columns.
    Detail(String, Question, u16),
    /// Rows of stacks.
    List(ListTopic, Question),
    /// The results of the scan with this number, counted from 1.
    Retained(usize),
    /// A source file.
    Source(PathBuf),
}

impl Request {
    /// True when the answer to the other request may stand for that to this one until it arrives: on the same page.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(topic, ..), Self::Text(other, ..)) => topic == other,
            (Self::List(topic, _), Self::List(other, _)) => topic == other,
            (Self::View(_), Self::View(_))
            | (Self::Changes(_), Self::Changes(_))
            | (Self::Retained(_), Self::Retained(_)) => true,
            _ => false,
        }
    }
}
