//! A table of stacks, grouped by the function that allocates.
//!
//! ```text
//!     bytes    share      blocks  function
//!     350 B    100 %           4  [Everything]
//!     300 B   85.7 %           3  b (b.c:11)
//!                                 < a < main
//! ```

use super::columns::Columns;
use super::escape::{columns as columns_of, fit};
use super::place::{chain, detail, function};
use super::stack_line::not_shown;
use super::style::{Role, Style};
use analysis::{
    Amount, Cutoff, Group, LabelId, Metric, Row, Spread, call_of_row, called_of, groups, meaningful,
    rows_as_read,
};
use engine::{Grouping, Loaded};
use std::io::{self, Write};

/// Most stacks shown of a function.
const STACKS: usize = 3;

/// Most functions shown of a stack.
const DEPTH: usize = 12;

/// Writes the table.
pub(super) fn stacks(
    out: &mut dyn Write,
    loaded: &Loaded,
    metric: Metric,
    cutoff: Cutoff,
    style: &Style,
) -> io::Result<()> {
    let columns = Columns::new(loaded, metric, metric.of(&loaded.profile.total), style);
    writeln!(out, "{}", style.paint(Role::Detail, format!("{}{}", columns.header(), row_noun(loaded))))?;
    let groups = groups(
        &rows_as_read(&loaded.profile, &loaded.tables, &loaded.names, metric),
        &loaded.tables,
        &loaded.names,
        metric,
    );
    let shown = cutoff.shown(groups.iter().map(|group| metric.rank(metric.of(&group.cost))));
    writeln!(
        out,
        "{}{}",
        columns.row(columns.total, metric.of(&loaded.profile.total_spread)),
        loaded.names.label(LabelId::EVERYTHING).name
    )?;
    for group in &groups[..shown] {
        one_group(out, loaded, group, &columns)?;
    }
    remainder(
        out,
        &columns,
        groups[shown..].iter().map(|group| (metric.of(&group.cost), metric.of(&group.spread))),
        &format!("smaller {}", row_noun(loaded)),
        groups.get(shown).map_or("", |largest| cutoff.option(metric.rank(metric.of(&largest.cost)))),
        "",
    )
}

/// What a row stands for.
pub(super) fn row_noun(loaded: &Loaded) -> &str {
    grouping(loaded).map_or("function", Grouping::name)
}

fn grouping(loaded: &Loaded) -> Option<&Grouping> {
    loaded.seen.as_ref().and_then(|seen| seen.group.as_ref())
}

fn one_group(out: &mut dyn Write, loaded: &Loaded, group: &Group, columns: &Columns) -> io::Result<()> {
    let (style, metric) = (columns.style, columns.metric);
    let room = style.room(Columns::WIDTH);
    let detail = common_detail(loaded, group);
    let name = group_name(loaded, group, detail.as_deref(), room);
    let numbers = columns.row(metric.of(&group.cost), metric.of(&group.spread));
    writeln!(out, "{numbers}{}", style.paint(Role::Function, name))?;
    // Processes and threads have no callers.
    if grouping(loaded).is_some_and(Grouping::is_of_owner) {
        return Ok(());
    }
    let way = |row: &Row, call| way(loaded, row, detail.is_none(), call);
    let paint = |text: &str, room: usize| style.paint(Role::Detail, fit(text, room).into_owned());
    if let [row] = group.rows[..] {
        let blank = " ".repeat(columns.width());
        return writeln!(out, "{blank}{}", paint(&way(&row, None), room));
    }
    let shown = group.rows.len().min(STACKS);
    let ways: Vec<(String, &str)> = group.rows[..shown]
        .iter()
        .map(|row| (way(row, None), call_of_row(&loaded.tables, row.node, &row.cost)))
        .collect();
    for (row, (text, call)) in group.rows.iter().zip(&ways) {
        let numbers = columns.row(metric.of(&row.cost), metric.of(&row.spread));
        // Another row with the same text may be for a different allocator function.
        let has_twin = ways.iter().any(|(other, other_call)| other == text && other_call != call);
        let text = if has_twin { way(row, Some(*call)) } else { text.clone() };
        writeln!(out, "{numbers}  {}", paint(&text, room.saturating_sub(2)))?;
    }
    let rest = group.rows[shown..].iter().map(|row| (metric.of(&row.cost), metric.of(&row.spread)));
    remainder(out, columns, rest, "more stack", "--json", "  ")
}

/// Where the function allocates, if all its stacks agree.
fn common_detail(loaded: &Loaded, group: &Group) -> Option<String> {
    let mut details = group.rows.iter().map(|row| {
        let (_, step) = meaningful(&loaded.tables, &loaded.names, row.node).next()?;
        detail(loaded, &step)
    });
    let first = details.next()??;
    details.all(|detail| detail.as_ref() == Some(&first)).then_some(first)
}

fn group_name(loaded: &Loaded, group: &Group, detail: Option<&str>, room: usize) -> String {
    let first = group.rows.first().and_then(|row| meaningful(&loaded.tables, &loaded.names, row.node).next());
    let Some((_, step)) = first else { return "[no stack]".to_owned() };
    let name = function(&loaded.names, &step);
    match detail {
        Some(detail) => {
            let detail = format!(" ({detail})");
            let name = fit(&name, room.saturating_sub(columns_of(&detail)).max(20)).into_owned();
            fit(&format!("{name}{detail}"), room).into_owned()
        }
        None => fit(&name, room).into_owned(),
    }
}

/// The path of a stack through the allocating function: `b.c:11 via xmalloc < a < main`, including the allocator
/// function if given.
fn way(loaded: &Loaded, row: &Row, with_detail: bool, call: Option<&str>) -> String {
    let Loaded { tables, names, .. } = loaded;
    let mut parts = Vec::new();
    if with_detail {
        let first = meaningful(tables, names, row.node).next();
        parts.extend(first.and_then(|(_, step)| detail(loaded, &step)));
    }
    let called = called_of(tables, names, row.node).map(|step| function(names, &step));
    // A standard library function may also have called several allocator functions.
    parts.extend(called.into_iter().chain(call.map(Into::into)).map(|called| format!("via {called}")));
    let callers = chain(loaded, row.node, 1, DEPTH);
    if !callers.is_empty() {
        parts.push(format!("< {callers}"));
    } else if parts.is_empty() {
        parts.push("(no caller)".to_owned());
    }
    parts.join(" ")
}

/// A row for what is hidden, and the option that shows it.
pub(super) fn remainder(
    out: &mut dyn Write,
    columns: &Columns,
    hidden: impl ExactSizeIterator<Item = (Amount, Spread)>,
    noun: &str,
    option: &str,
    indent: &str,
) -> io::Result<()> {
    let number = hidden.len();
    if number == 0 {
        return Ok(());
    }
    let (total, spread) =
        hidden.fold((Amount::ZERO, Spread::ZERO), |sum, row| (sum.0 + row.0, sum.1 + row.1));
    let text = not_shown(number, noun, option);
    writeln!(out, "{}{indent}{}", columns.row(total, spread), columns.style.paint(Role::Detail, text))
}
