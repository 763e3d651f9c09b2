//! The data of a page.
//!
//! ```text
//!  length of the head, 4 bytes, little-endian │ head: JSON │ columns, see `columns`
//! ```
//!
//! The head contains the `info --json` document, all texts, and the table of columns. `assets/data.js` reads it.

mod lists;
mod over_time;
mod stacks;

use super::call_tree::{BlocksEnd, CallTree, Ended, Row};
use super::columns::{Column, Columns};
use super::fold::Folded;
use super::overview::Overview;
use super::texts::Texts;
use crate::options::{Drawing, PageOptions};
use crate::tables::ViewTables;
use analysis::lifetimes::{Age, SizeClass};
use analysis::{Amount, Flow, History, Metric};
use capture::Pseudo;
use engine::{Loaded, PeakMemory, Sources};
use lists::{MarkFields, RegionFields};
pub(super) use over_time::over_time;
use report::outline::Outline;
use serde::Serialize;
use serde_json::Value;
pub(super) use stacks::Stacks;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;

/// Version of the data. The scripts are in the same file, so nothing else needs to read it.
const VERSION: u32 = 1;

/// The metrics that rows have, also of an older capture, by their names in the columns. Times are in the column of bytes,
/// samples in that of blocks.
const METRICS: [(&str, Metric); 6] = [
    ("allocated", Metric::Bytes),
    ("temporary", Metric::Temporary),
    ("peak", Metric::Peak),
    ("leaked", Metric::Leaked),
    ("cpu", Metric::Cpu),
    ("frees", Metric::Frees),
];

#[derive(Serialize)]
struct Head<'a> {
    version: u32,
    info: &'a Value,
    /// The same for the older capture.
    before: Option<&'a Value>,
    folded: &'a FoldedFields,
    rows_left_out: usize,
    warnings: &'a [String],
    notes: &'a [String],
    source_url: Option<&'a str>,
    path_map: &'a [(String, String)],
    calls: Vec<Option<&'static str>>,
    texts: &'a [String],
    marks: &'a [MarkFields],
    regions: &'a [RegionFields],
    /// True for several captures, each of which has its own times.
    untimed: bool,
    cell_bytes: Option<u64>,
    /// Whose blocks kept which pages at the peak, if single blocks are known.
    pages: Option<&'a [Outline]>,
    views: &'a [ViewTables],
    drawing: Option<&'a Drawing>,
    sizes: Vec<String>,
    ages: Vec<String>,
    columns: Vec<&'a Column>,
}

#[derive(Serialize)]
struct FoldedFields {
    stacks: usize,
    allocated_blocks: i64,
    allocated_bytes: i64,
    peak_bytes: i64,
    leaked_bytes: i64,
}

/// The input of every attempt to make the data.
pub(super) struct Parts<'a> {
    pub(super) loaded: &'a Loaded,
    /// The history of the whole time.
    pub(super) history: &'a History,
    pub(super) options: &'a PageOptions,
    pub(super) shared: &'a Shared,
}

/// What all histories of a capture share.
pub(super) struct Shared {
    pub(super) call_tree: CallTree,
    pub(super) sources: RefCell<Sources>,
    pub(super) memory: Option<PeakMemory>,
    /// Whose blocks kept which pages then.
    pub(super) pages: Option<Vec<Outline>>,
    pub(super) overview: Overview,
    /// The older capture's overview.
    pub(super) baseline_overview: Option<Overview>,
}

/// The data of a page with this part of its tree, and the history whose changes the tree has.
pub(super) fn data(parts: &Parts<'_>, history: &History, folded: &Folded) -> io::Result<Vec<u8>> {
    let fixed = Fixed::new(parts, folded);
    let changes: Vec<&[(u32, Flow)]> = folded.rows.iter().map(|row| row.changes.as_slice()).collect();
    let moving = over_time(parts.loaded, history, &changes);
    Ok([&fixed.head(parts, &moving)?, &fixed.columns.bytes, &moving.bytes].map(Vec::as_slice).concat())
}

/// What the data of all histories of a capture share: everything except the slices and the rows' changes in them.
pub(super) struct Fixed {
    /// Written after the head, followed by the columns over time.
    pub(super) columns: Columns,
    texts: Texts,
    marks: Vec<MarkFields>,
    regions: Vec<RegionFields>,
    folded: FoldedFields,
}

impl Fixed {
    pub(super) fn new(parts: &Parts<'_>, folded: &Folded) -> Self {
        let mut writer = Writer { parts, texts: Texts::default(), columns: Columns::default() };
        let sources = parts.options.with_source.then_some(&parts.shared.sources);
        let stacks = Stacks { loaded: parts.loaded, call_tree: &parts.shared.call_tree, sources };
        stacks.write(&mut writer.columns, &mut writer.texts, folded);
        writer.rows(&folded.rows);
        writer.ends(folded);
        if parts.shared.baseline_overview.is_some() {
            writer.compared(&folded.rows);
        }
        writer.spectrum();
        writer.map();
        let marks = writer.marks();
        let regions = writer.regions();
        let Writer { texts, columns, .. } = writer;
        let folded = FoldedFields {
            stacks: folded.stacks,
            allocated_blocks: folded.cost.allocated.blocks,
            allocated_bytes: folded.cost.allocated.bytes,
            peak_bytes: folded.cost.peak.bytes,
            leaked_bytes: folded.cost.leaked.bytes,
        };
        Self { columns, texts, marks, regions, folded }
    }

    /// The head for both sets of columns.
    pub(super) fn head(&self, parts: &Parts<'_>, over_time: &Columns) -> io::Result<Vec<u8>> {
        let Shared { call_tree, memory, pages, overview, baseline_overview, .. } = parts.shared;
        let head = Head {
            version: VERSION,
            info: &overview.document,
            before: baseline_overview.as_ref().map(|older| &older.document),
            folded: &self.folded,
            rows_left_out: overview.left_out,
            warnings: &overview.warnings,
            notes: &overview.notes,
            source_url: parts.options.source_url.as_deref(),
            path_map: &parts.options.path_map,
            calls: (0..CALLS).map(call_name).collect(),
            texts: &self.texts.texts,
            marks: &self.marks,
            regions: &self.regions,
            untimed: parts.history.is_untimed,
            cell_bytes: memory.as_ref().map(|memory| memory.map.cell_bytes),
            pages: pages.as_deref(),
            views: &parts.options.views,
            drawing: parts.options.drawing.as_ref(),
            sizes: call_tree.sizes.iter().map(SizeClass::to_string).collect(),
            ages: call_tree.ages.iter().map(Age::to_string).collect(),
            columns: self.columns.table.iter().chain(&over_time.table).collect(),
        };
        headed(&head)
    }
}

/// A head preceded by its length.
pub(super) fn headed(head: &impl Serialize) -> io::Result<Vec<u8>> {
    let head = serde_json::to_vec(head)?;
    let length =
        u32::try_from(head.len()).map_err(|_| io::Error::other("the names do not fit into a page"))?;
    Ok([&length.to_le_bytes()[..], &head].concat())
}

/// Numbers below this one are functions of the allocator.
const CALLS: u8 = 20;

/// The allocator function, by the number in a row.
fn call_name(number: u8) -> Option<&'static str> {
    match number {
        0 => Some("malloc"),
        _ => Pseudo::from_number(number).map(Pseudo::label),
    }
}

struct Writer<'a> {
    parts: &'a Parts<'a>,
    texts: Texts,
    columns: Columns,
}

impl Writer<'_> {
    fn rows(&mut self, rows: &[Row]) {
        let columns = &mut self.columns;
        columns.rising("row.node", rows.iter().map(|row| i64::from(row.node)));
        columns.numbers("row.call", rows.iter().map(|row| i64::from(row.call)));
        for (name, metric) in METRICS {
            columns.amounts(&format!("row.{name}"), rows.iter().map(|row| metric.of(&row.cost)));
        }
        let mut entries = |names: [&'static str; 3], of: fn(&Row) -> &[(u32, Amount)]| {
            let all = rows.iter().flat_map(of);
            columns.numbers(names[0], rows.iter().map(|row| of(row).len() as i64));
            columns.numbers(names[1], all.clone().map(|(class, _)| i64::from(*class)));
            columns.amounts(names[2], all.map(|(_, amount)| *amount));
        };
        entries(["row.during", "during.region", "during"], |row| &row.during);
        entries(["row.sizes", "sized.class", "sized"], |row| &row.sizes);
        entries(["row.ages", "aged.class", "aged"], |row| &row.ages);
    }

    /// What became of the blocks of rows; nothing when the stacks of frees were not recorded.
    fn ends(&mut self, folded: &Folded) {
        if !self.parts.loaded.tables.metadata.has_free_stacks() {
            return;
        }
        // Several freeing stacks may have been folded into one row.
        let place = |end: BlocksEnd| match end {
            BlocksEnd::Left => -1,
            BlocksEnd::Unseen => -2,
            BlocksEnd::ToNothing => -3,
            BlocksEnd::By(row) => folded.row_of.get(row as usize).map_or(-2, |&row| i64::from(row)),
        };
        let ends: Vec<BTreeMap<i64, Ended>> = (folded.rows.iter())
            .map(|row| {
                row.ends.iter().fold(BTreeMap::new(), |mut ends, &(end, ended)| {
                    *ends.entry(place(end)).or_default() += ended;
                    ends
                })
            })
            .collect();
        let columns = &mut self.columns;
        columns.numbers("row.ends", ends.iter().map(|ends| ends.len() as i64));
        let all = || ends.iter().flatten();
        columns.numbers("ended.by", all().map(|(by, _)| *by));
        columns.amounts("ended", all().map(|(_, ended)| ended.blocks));
        columns.amounts("ended.others", all().map(|(_, ended)| ended.by_others));
    }

    /// What rows had in the older capture, and what the comparison attributes to another row than the one that
    /// allocated it.
    fn compared(&mut self, rows: &[Row]) {
        let columns = &mut self.columns;
        let changes = || rows.iter().map(|row| row.change.as_deref().copied().unwrap_or_default());
        for (name, metric) in METRICS {
            columns.amounts(&format!("before.{name}"), changes().map(|change| metric.of(&change.before)));
            columns.amounts(&format!("moved.{name}"), changes().map(|change| metric.of(&change.moved)));
        }
    }
}
