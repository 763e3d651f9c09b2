//! Answers of the worker.

use super::request::Question;
use super::retained::RetainedMemory;
use super::source::SourceText;
use super::stack_list::StackList;
use analysis::{Amount, FunctionCost, LabelId, Timeline, Tree};
use engine::Loaded;
use report::text::Line;
use std::sync::Arc;

/// A counted capture, which most pages are drawn from.
#[derive(Debug)]
pub(crate) struct View {
    /// The question it answers.
    pub(crate) question: Question,
    /// The names and the numbers.
    pub(crate) loaded: Arc<Loaded>,
    /// The tree from the root inwards.
    pub(crate) tree: Arc<Tree>,
    /// All functions.
    pub(crate) functions: Vec<FunctionCost>,
    /// Indices of functions sorted by total, by own part, and by name.
    pub(crate) orders: [Vec<u32>; 3],
}

/// What changed, as a tree.
#[derive(Debug)]
pub(crate) struct Changes {
    /// The names, and the tree of changes in either direction, which sets the widths.
    pub(crate) view: Arc<View>,
    /// A tree of the same shape with the net changes, which set the colours.
    pub(crate) sums: Arc<Tree>,
    /// What is compared, in one line.
    pub(crate) about: String,
}

/// A mark on the time axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Nanoseconds since the recording began.
    pub(crate) time: u64,
    /// Its name, safe to print.
    pub(crate) name: String,
}

/// The heap over time, and whatever else has the same axis.
#[derive(Debug)]
pub(crate) struct History {
    /// The heap.
    pub(crate) heap: Timeline,
    /// Resident bytes by step; empty where they were not recorded.
    pub(crate) resident: Vec<i64>,
    /// CPU time by step, nanoseconds; empty where it was not recorded.
    pub(crate) processor: Vec<i64>,
    /// The program's marks, by time.
    pub(crate) marks: Vec<Mark>,
    /// Length of the recording.
    pub(crate) duration: u64,
}

/// The answer to a request.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// A view.
    View(Arc<View>),
    /// An inverted tree, with its names.
    Inverted(Arc<View>, Arc<Tree>),
    /// A function, with its names: its callers, and the tree below it.
    Function(Arc<View>, Arc<[(LabelId, Amount)]>, Arc<Tree>),
    /// The changes.
    Changes(Arc<Changes>),
    /// The heap over time.
    History(Arc<History>),
    /// A text, from top to bottom.
    Text(Arc<[Line]>),
    /// Rows.
    List(Arc<StackList>),
    /// A scan.
    Retained(Arc<RetainedMemory>),
    /// A source file.
    Source(Arc<SourceText>),
    /// Why there is no answer.
    Failed(String),
    /// Another recording has replaced the capture's file.
    Replaced,
}

/// A function that takes out what an answer of this kind holds.
macro_rules! held_by {
    ($kind:ident) => {
        |answer: &$crate::work::Answer| match answer {
            $crate::work::Answer::$kind(held) => Some(held.clone()),
            _ => None,
        }
    };
}
pub(crate) use held_by;
