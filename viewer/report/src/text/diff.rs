//! `diff --tree`: what changed, as a tree of the changes: the net change of each function, and next to it the sum of all
//! changes below it.

use super::columns::{heads, laid};
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
use crate::table::{Column, Readers};
use crate::views::{self, Numbers, changed};
use analysis::{Amount, Metric, Shown, Spread, Tree};
use engine::{Compared, Loaded};
use std::io::{self, Write};

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
fn columns_of(compared: &Compared, numbers: &Numbers, metric: Metric) -> Vec<Column> {
    let [_, other] = views::heads(&compared.loaded, metric);
    let [delta, other, gross] = ["delta", other, "gross"].map(Column::shown);
    [delta].into_iter().chain(numbers.error_column()).chain([other, gross]).collect()
}

/// The number that ranks, and the others.
fn row(
    loaded: &Loaded,
    columns: &[Column],
    numbers: &Numbers,
    (delta, spread, gross): (Amount, Spread, Amount),
) -> Line {
    let [first, second] = changed(numbers.pair(delta, spread));
    let [gross, _] = numbers.pair(gross, spread);
    let role = if first.has_grown() { Role::Warning } else { Role::Value };
    let cells = [first].into_iter().chain(numbers.error(delta, spread)).chain([second, gross]);
    let (first, others) = laid(columns, cells.map(|value| words(loaded, &value, usize::MAX)));
    vec![(role, first), (Role::Plain, others)]
}

fn tree(compared: &Compared, options: &DiffOptions, extent: Extent, style: &Style) -> Vec<Line> {
    let (loaded, metric) = (&compared.loaded, options.metric);
    let (net, gross) = compared.diff.trees(&loaded.tables, &loaded.names, metric);
    let cutoff = options.cutoff(metric.rank(gross.node(Tree::ROOT).total), Readers::People);
    let numbers = Numbers::of_changes(compared, metric);
    let titles = columns_of(compared, &numbers, metric);
    let row = |numbers_of| row(loaded, &titles, &numbers, numbers_of);
    let used: usize = titles.iter().map(|column| column.width + 2).sum();
    let mut lines = vec![vec![(Role::Detail, heads(&titles) + "function")]];
    let nothing = (Amount::ZERO, Spread::ZERO, Amount::ZERO);
    let mut rows = Rows::new((Some(Tree::ROOT), nothing, (0, "")));
    while let Some(((id, hidden, (number, option)), lead, branch)) = rows.pop() {
        let line = lead.text(branch, 24);
        let room = style.room(used + columns(&line));
        let Some(id) = id else {
            let option = if extent.has_options { option } else { "" };
            let mut row = row(hidden);
            row.extend([(Role::Plain, line), (Role::Detail, smaller_ones(number, option, room))]);
            lines.push(row);
            continue;
        };
        let name = fit_name(&loaded.names, net.node(id).label, room);
        let mut row = row((net.node(id).total, net.spread(id), gross.node(id).total));
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
