//! Answers of the worker.

use super::document::Document;
use super::request::Question;
use super::retained::RetainedMemory;
use super::source::SourceText;
use crate::catalogue;
use analysis::{Amount, FunctionCost, LabelId, Timeline, Tree};
use capture::NodeId;
use engine::Loaded;
use std::path::PathBuf;
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

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// The file, as the debug information names it.
    pub(crate) path: PathBuf,
    /// The line in it, from 1; 0 where only the file is known.
    pub(crate) line: u32,
}

/// A row for a stack or a line.
#[derive(Clone, Debug)]
pub(crate) struct StackRow {
    /// Its numbers, in the columns of the header.
    pub(crate) numbers: String,
    /// Its name.
    pub(crate) name: String,
    /// Its stack; none for a line.
    pub(crate) node: Option<NodeId>,
    /// Its place in the source.
    pub(crate) place: Option<Place>,
    /// The marks it stands for; none for a stack or a line.
    pub(crate) mark: Option<MarkedRow>,
    /// Further details, one line each.
    pub(crate) about: Vec<String>,
}

impl StackRow {
    /// The last row of a list that is cut: how many rows are left out, and how to see them.
    pub(crate) fn of_others(left_out: usize, way: &str) -> Option<Self> {
        let said = || Self {
            numbers: String::new(),
            name: catalogue::not_shown(left_out, way),
            node: None,
            place: None,
            mark: None,
            about: Vec::new(),
        };
        (left_out > 0).then(said)
    }

    /// True for such a row.
    pub(crate) fn is_of_others(&self) -> bool {
        self.numbers.is_empty()
    }
}

/// The marks of one name.
#[derive(Clone, Debug)]
pub(crate) struct MarkedRow {
    /// The name, as recorded.
    pub(crate) name: String,
    /// The first of its regions, one per line.
    pub(crate) regions: Vec<String>,
    /// How many more regions there are.
    pub(crate) more: usize,
}

/// Rows, and their heading.
#[derive(Debug)]
pub(crate) struct StackList {
    /// What the page is about, and what to know before trusting it.
    pub(crate) about: Vec<String>,
    /// Heading of the numbers.
    pub(crate) header: String,
    /// Columns that the numbers take, and how many of them on a narrow screen.
    pub(crate) numbers: [usize; 2],
    /// The most expensive first; if some are left out, the last row says how many.
    pub(crate) rows: Vec<StackRow>,
    /// How many rows are left out.
    pub(crate) left_out: usize,
    /// The names.
    pub(crate) loaded: Arc<Loaded>,
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
    /// A text.
    Text(Arc<Document>),
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
