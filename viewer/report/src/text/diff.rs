//! `diff --tree`: what changed, as a tree of the changes: the net change of each function, and next to it the sum of all
//! changes below it.

use super::document::document_lines;
use super::escape::columns;
use super::extent::Extent;
use super::line::{Line, print};
use super::place::fit_name;
use super::stack_line::smaller_ones;
use super::style::{Role, Style};
use super::tree_lines::Rows;
use super::words::words;
use crate::options::DiffOptions;
use crate::table::{Readers, Value};
use crate::views::{self, Numbers, changed};
use analysis::{Amount, Metric, Shown, Spread, Tree};
use engine::Compared;
use std::io::{self, Write};

const NUMBER: usize = 10;

/// Width of an error column, as in all reports.
const ERROR: usize = 7;

/// Writes what changed, stack by stack or as a tree.
///
/// # Errors
/// Those of the writer.
pub fn diff(
    out: &mut dyn Write,
    compared: &Compared,
    options: &DiffOptions,
    style: &Style,
) -> io::Result<()> {
    print(out, &diff_lines(compared, options, Extent::of_command(usize::MAX), style), style)
}

/// The same as lines.
pub fn diff_lines(compared: &Compared, options: &DiffOptions, extent: Extent, style: &Style) -> Vec<Line> {
    let found = views::diff(compared, options, Readers::People);
    let mut lines = document_lines(&compared.loaded, &found, extent, style);
    let (grown, shrunk) = compared.diff.gross(options.metric);
    if options.tree && !(grown.is_zero() && shrunk.is_zero()) {
        lines.push(Line::new());
        lines.extend(tree(compared, options, extent, style));
    }
    lines
}

/// The columns before a name.
struct Columns<'a> {
    compared: &'a Compared,
    metric: Metric,
    numbers: Numbers,
}

impl Columns<'_> {
    fn header(&self) -> String {
        let [_, other] = views::heads(&self.compared.loaded, self.metric);
        format!(
            "{:>NUMBER$}  {}{other:>NUMBER$}  {:>NUMBER$}  function",
            "delta",
            self.error("error"),
            "gross"
        )
    }

    /// Width of a row.
    fn width(&self) -> usize {
        3 * (NUMBER + 2) + self.error("").len()
    }

    /// The number that ranks, and the others.
    fn row(&self, delta: Amount, spread: Spread, gross: Amount) -> Line {
        let [first, second] = changed(self.numbers.pair(delta, spread));
        let [gross, _] = self.numbers.pair(gross, spread);
        let (error, ranked) = match self.metric.counts_blocks() {
            true => (spread.blocks_error(), delta.blocks),
            false => (spread.bytes_error(), delta.bytes),
        };
        let role = if first.has_grown() { Role::Warning } else { Role::Value };
        let said = |value: &Value| words(&self.compared.loaded, value, usize::MAX);
        let error = self.error(&said(&Value::Error(error, ranked)));
        let others = format!("  {error}{:>NUMBER$}  {:>NUMBER$}  ", said(&second), said(&gross));
        vec![(role, format!("{:>NUMBER$}", said(&first))), (Role::Plain, others)]
    }

    /// A column that exists only when estimates are compared.
    fn error(&self, text: &str) -> String {
        if self.numbers.are_estimates { format!("{text:>ERROR$}  ") } else { String::new() }
    }
}

fn tree(compared: &Compared, options: &DiffOptions, extent: Extent, style: &Style) -> Vec<Line> {
    let (loaded, metric) = (&compared.loaded, options.metric);
    let (net, gross) = compared.diff.trees(&loaded.tables, &loaded.names, metric);
    let cutoff = options.cutoff(metric.rank(gross.node(Tree::ROOT).total), Readers::People);
    let numbers = Numbers::of_changes(compared, metric);
    let cells = Columns { compared, metric, numbers };
    let mut lines = vec![vec![(Role::Detail, cells.header())]];
    let nothing = (Amount::ZERO, Spread::ZERO, Amount::ZERO);
    let mut rows = Rows::new((Some(Tree::ROOT), nothing, (0, "")));
    while let Some(((id, hidden, (number, option)), lead, branch)) = rows.pop() {
        let line = lead.text(branch, 24);
        let room = style.room(cells.width() + columns(&line));
        let Some(id) = id else {
            let option = if extent.has_options { option } else { "" };
            let (delta, spread, gross) = hidden;
            let mut row = cells.row(delta, spread, gross);
            row.extend([(Role::Plain, line), (Role::Detail, smaller_ones(number, option, room))]);
            lines.push(row);
            continue;
        };
        let name = fit_name(&loaded.names, net.node(id).label, room);
        let mut row = cells.row(net.node(id).total, net.spread(id), gross.node(id).total);
        row.extend([(Role::Plain, line), (Role::Function, name)]);
        lines.push(row);
        let shown = Shown::of(&gross, id, &loaded.names, metric, cutoff);
        let own = (net.node(id).total - net.own(id), net.spread(id) - net.own_spread(id));
        let (delta, spread) = shown
            .children
            .iter()
            .fold(own, |(delta, spread), &child| (delta - net.node(child).total, spread - net.spread(child)));
        let hidden = (None, (delta, spread, shown.hidden_total), (shown.hidden, shown.option));
        let children = shown.children.iter().map(|&child| (Some(child), nothing, (0, "")));
        rows.push_below((lead, branch), children, (shown.hidden > 0).then_some(hidden));
    }
    lines
}
