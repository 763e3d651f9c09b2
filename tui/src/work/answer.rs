//! What comes back.

use super::document::Document;
use super::kept::Kept;
use super::request::Question;
use super::source::SourceText;
use crate::catalogue;
use capture::NodeId;
use std::path::PathBuf;
use std::sync::Arc;
use viewer::Loaded;
use viewer::analysis::{Amount, FunctionCost, LabelId, Timeline, Tree};

/// A capture, counted: what most pages are drawn from.
#[derive(Debug)]
pub(crate) struct View {
    /// What was asked.
    pub(crate) question: Question,
    /// The names and the numbers.
    pub(crate) loaded: Arc<Loaded>,
    /// From the root inwards.
    pub(crate) tree: Arc<Tree>,
    /// All functions.
    pub(crate) functions: Vec<FunctionCost>,
    /// Their places by total, by their own part, and by name.
    pub(crate) orders: [Vec<u32>; 3],
}

/// What changed, as a tree.
#[derive(Debug)]
pub(crate) struct Changes {
    /// The names, and the tree of what changed in either direction: how wide things are.
    pub(crate) view: Arc<View>,
    /// A tree of the same shape with the sums: how they are coloured.
    pub(crate) sums: Arc<Tree>,
    /// What is compared, in a line.
    pub(crate) about: String,
}

/// A mark on the axis of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Nanoseconds since the recording began.
    pub(crate) time: u64,
    /// Its name, harmless.
    pub(crate) name: String,
}

/// The heap over time, with what else there is on the same axis.
#[derive(Debug)]
pub(crate) struct History {
    /// The heap.
    pub(crate) heap: Timeline,
    /// Resident bytes by step; empty where nobody looked.
    pub(crate) resident: Vec<i64>,
    /// Processor time by step, nanoseconds; empty where nobody looked.
    pub(crate) processor: Vec<i64>,
    /// The moments that programs named, by time.
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
    /// What it is called.
    pub(crate) name: String,
    /// Its stack; none of a line.
    pub(crate) node: Option<NodeId>,
    /// Where it is.
    pub(crate) place: Option<Place>,
    /// What it marks; none of a stack or a line.
    pub(crate) mark: Option<MarkedRow>,
    /// What else there is to say of it, a line each.
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

    /// True of that row.
    pub(crate) fn is_of_others(&self) -> bool {
        self.numbers.is_empty()
    }
}

/// The marks of one name.
#[derive(Clone, Debug)]
pub(crate) struct MarkedRow {
    /// The name, as it was recorded.
    pub(crate) name: String,
    /// The first of its regions, one line each.
    pub(crate) regions: Vec<String>,
    /// How many others there are.
    pub(crate) more: usize,
}

/// Rows, and what stands over them.
#[derive(Debug)]
pub(crate) struct StackList {
    /// What the page is about, and what to know before believing it.
    pub(crate) about: Vec<String>,
    /// Over the numbers.
    pub(crate) header: String,
    /// Columns of the screen that the numbers take, and how many of them where there is little room.
    pub(crate) numbers: [usize; 2],
    /// The most expensive first; at last how many there is no room for, where there are any.
    pub(crate) rows: Vec<StackRow>,
    /// How many that are.
    pub(crate) left_out: usize,
    /// The names.
    pub(crate) loaded: Arc<Loaded>,
}

/// The answer to a request.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// Of a view.
    View(Arc<View>),
    /// Of an inverted tree, with its names.
    Inverted(Arc<View>, Arc<Tree>),
    /// Of a function, with its names: its callers, and the tree below it.
    Function(Arc<View>, Arc<[(LabelId, Amount)]>, Arc<Tree>),
    /// Of what changed.
    Changes(Arc<Changes>),
    /// Of the heap over time.
    History(Arc<History>),
    /// Of a text.
    Text(Arc<Document>),
    /// Of rows.
    List(Arc<StackList>),
    /// Of a scan.
    Retained(Arc<Kept>),
    /// Of a source file.
    Source(Arc<SourceText>),
    /// Why there is no answer.
    Failed(String),
    /// Another recording lies where the capture was.
    Replaced,
}
