//! The call graph of what a page shows, for Graphviz to draw: from the same sums over the same slices as the page
//! itself.

use analysis::{Amount, Flow, History, Metric, Share};
use capture::{NodeId, ProcessId};
use engine::Loaded;
use export::dot::{self, Cuts, Measure};
use std::io::{self, Write};
use std::ops::Range;

/// What a page requests a graph of.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphQuery {
    /// The page's name of the measure: `live`, `growth`, `peak`, `leaked`, `allocated`, `during`, `temporary`, `cpu`,
    /// `frees`.
    pub measure: String,
    /// Whether blocks are counted rather than bytes.
    pub counts_blocks: bool,
    /// Cursors A and B: boundaries between slices of the history that is shown.
    pub cursors: (usize, usize),
    /// The mark whose regions are meant, by its index in the list of marks.
    pub mark: usize,
    /// Functions and calls below this share of the total are left out.
    pub min: Option<Share>,
    /// Most functions that are drawn.
    pub limit: Option<usize>,
}

impl GraphQuery {
    /// The default view of a page, limited to what is readable.
    pub fn usual() -> Self {
        let measure = "peak".to_owned();
        Self { measure, counts_blocks: false, cursors: (0, 0), mark: 0, min: None, limit: None }
    }
}

/// Writes the graph for Graphviz, given the history of the whole time and the one that the page shows. Returns false
/// without writing anything if the query names a measure, boundary or mark that does not exist.
///
/// # Errors
/// Those of the writer.
pub fn graph(
    out: &mut dyn Write,
    loaded: &Loaded,
    [whole, shown]: [&History; 2],
    query: &GraphQuery,
) -> io::Result<bool> {
    let (a, b) = query.cursors;
    let slices = a.min(b)..a.max(b);
    if slices.end > shown.slices.len() {
        return Ok(false);
    }
    let in_all = |metric| dot::of_each(loaded, metric).collect::<Vec<_>>();
    let within = |range, of| sums(shown, range, of);
    let is_whole = is_whole(shown, &slices);
    let (name, metric, stacks) = match query.measure.as_str() {
        "live" => ("live".to_owned(), Metric::Live, within(0..b, |flow| flow.live)),
        "growth" => {
            let mut changes = within(slices, |flow| flow.live);
            if a > b {
                changes.iter_mut().for_each(|(_, _, change)| *change = Amount::ZERO - *change);
            }
            ("growth".to_owned(), Metric::Live, changes)
        }
        "allocated" if is_whole => ("allocated".to_owned(), Metric::Bytes, in_all(Metric::Bytes)),
        "allocated" => ("allocated".to_owned(), Metric::Bytes, within(slices, |flow| flow.allocated)),
        "temporary" if !is_whole => {
            ("temporary".to_owned(), Metric::Temporary, within(slices, |flow| flow.temporary))
        }
        "frees" if !is_whole => ("frees".to_owned(), Metric::Frees, within(slices, |flow| flow.frees)),
        "during" => {
            let Some(mark) = loaded.marks_by_name().get(query.mark).map(|mark| mark.name) else {
                return Ok(false);
            };
            let during = whole.during.iter().filter(|during| during.name == mark);
            let stacks = during.map(|during| (during.process, during.node, during.allocated)).collect();
            (format!("allocated during {}", loaded.tables.string(mark)), Metric::Bytes, stacks)
        }
        name @ ("peak" | "leaked" | "temporary" | "cpu" | "frees") => match name.parse::<Metric>() {
            Ok(metric) => (name.to_owned(), metric, in_all(metric)),
            Err(_) => return Ok(false),
        },
        _ => return Ok(false),
    };
    let is_change = query.measure == "growth";
    let measure = Measure { name, metric, counts_blocks: query.counts_blocks, is_change };
    dot::draw(out, loaded, &measure, &stacks, Cuts { min: query.min, limit: query.limit })?;
    Ok(true)
}

/// What each stack had of a measure in some slices.
fn sums(
    history: &History,
    slices: Range<usize>,
    of: fn(&Flow) -> Amount,
) -> Vec<(ProcessId, NodeId, Amount)> {
    let sum = |site| {
        let changes = history.changes(site).iter();
        let within = changes.filter(|(slice, _)| slices.contains(&(*slice as usize)));
        within.map(|(_, change)| of(change)).sum()
    };
    history.sites.iter().map(|site| (site.process, site.node, sum(site))).collect()
}

/// True when these slices contain everything that was allocated, temporary or freed: the page then uses the total,
/// which for samples is rounded once and not in each slice.
fn is_whole(history: &History, slices: &Range<usize>) -> bool {
    let happened =
        |flow: &Flow| [flow.allocated, flow.temporary, flow.frees].iter().any(|amount| amount.blocks != 0);
    slices.start == 0 && !history.slices[slices.end..].iter().any(|slice| happened(&slice.change))
}
