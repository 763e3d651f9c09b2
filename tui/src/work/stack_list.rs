//! Lists of stacks, and where these are in the source.

use crate::catalogue;
use analysis::{Step, meaningful};
use capture::{NodeId, StringId};
use engine::Loaded;
use report::text::columns;
use std::path::PathBuf;
use std::sync::Arc;

/// Most rows of a list.
pub(super) const LIST_ROWS: usize = 5000;

/// Width of a name that is not cut.
pub(super) const WIDE: usize = 400;

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// The file, as the debug information names it.
    pub(crate) path: PathBuf,
    /// The line in it, from 1; 0 where only the file is known.
    pub(crate) line: u32,
}

/// A row for a stack or a line.
#[derive(Clone, Debug, Default)]
pub(crate) struct StackRow {
    /// Its numbers, in the order of the headings.
    pub(crate) numbers: Vec<String>,
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
        (left_out > 0).then(|| Self { name: catalogue::not_shown(left_out, way), ..Self::default() })
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
    /// Headings of the numbers, then that of the names.
    pub(crate) heads: Vec<String>,
    /// How wide the numbers are.
    pub(crate) widths: Vec<usize>,
    /// How many numbers a narrow screen has.
    pub(crate) narrow: usize,
    /// The most expensive first; if some are left out, the last row says how many.
    pub(crate) rows: Vec<StackRow>,
    /// How many rows are left out.
    pub(crate) left_out: usize,
    /// The names.
    pub(crate) loaded: Arc<Loaded>,
}

impl StackList {
    /// Numbers or their headings in columns, and how wide these are.
    pub(crate) fn line(&self, cells: &[String], is_narrow: bool) -> (String, usize) {
        let shown = if is_narrow { self.narrow } else { usize::MAX }.min(self.widths.len());
        let widths = &self.widths[..shown];
        (in_columns(cells, widths), widths.iter().map(|width| width + 2).sum::<usize>().saturating_sub(2))
    }
}

/// Texts in columns of these widths, two blanks apart.
pub(super) fn in_columns(cells: &[String], widths: &[usize]) -> String {
    let cell = |(cell, width): (&String, &usize)| " ".repeat(width.saturating_sub(columns(cell))) + cell;
    cells.iter().zip(widths).map(cell).collect::<Vec<_>>().join("  ")
}

/// A step's place in the source.
pub(crate) fn place(loaded: &Loaded, step: &Step) -> Option<Place> {
    place_in(loaded, step.file?, step.line)
}

/// A line of a file; line 0 where only the file is known.
pub(super) fn place_in(loaded: &Loaded, file: StringId, line: Option<u32>) -> Option<Place> {
    let path = loaded.tables.string(file);
    (!path.is_empty()).then(|| Place { path: path.into(), line: line.unwrap_or(0) })
}

/// The place of the first meaningful function of a stack.
pub(crate) fn place_of(loaded: &Loaded, node: NodeId) -> Option<Place> {
    let (_, step) = meaningful(&loaded.tables, &loaded.names, node).next()?;
    place(loaded, &step)
}
