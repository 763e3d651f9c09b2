//! A table of stacks, grouped by the function that allocates.
//!
//! ```text
//!     bytes    share      blocks  function
//!     350 B    100 %           4  [Everything]
//!     300 B   85.7 %           3  b (b.c:11)
//!                                 < a < main
//! ```

use super::columns::Columns;
use super::escape::fit;
use super::place::{chain, detail, function};
use super::style::{Role, Style};
use crate::analysis::{Amount, Cutoff, Group, LabelId, Metric, Row, groups, meaningful, rows};
use crate::format::counted;
use crate::loaded::Loaded;
use std::io::{self, Write};

/// Stacks shown of one function.
const STACKS: usize = 3;

/// Functions shown of one stack.
const DEPTH: usize = 12;

/// Writes the table.
pub(super) fn stacks(
    out: &mut dyn Write,
    loaded: &Loaded,
    metric: Metric,
    cutoff: Cutoff,
    style: &Style,
) -> io::Result<()> {
    let columns = Columns { metric, total: metric.of(&loaded.profile.total), style };
    writeln!(out, "{}", style.paint(Role::Detail, format!("{}function", columns.header())))?;
    let groups = groups(&rows(&loaded.profile, metric), &loaded.tables, &loaded.names, metric);
    let is_shown = |group: &Group| metric.rank(metric.of(&group.cost)) >= cutoff.least;
    let shown = groups.iter().take_while(|group| is_shown(group)).take(cutoff.limit).count();
    writeln!(out, "{}{}", columns.row(columns.total), loaded.names.label(LabelId::EVERYTHING).name)?;
    for group in &groups[..shown] {
        one_group(out, loaded, group, &columns)?;
    }
    remainder(
        out,
        &columns,
        groups[shown..].iter().map(|group| metric.of(&group.cost)),
        "smaller function",
        "",
    )
}

fn one_group(out: &mut dyn Write, loaded: &Loaded, group: &Group, columns: &Columns) -> io::Result<()> {
    let (style, metric) = (columns.style, columns.metric);
    let room = style.width.saturating_sub(Columns::WIDTH).max(20);
    let name = group_name(loaded, group, room);
    writeln!(out, "{}{}", columns.row(metric.of(&group.cost)), style.paint(Role::Function, name))?;
    let callers = |row: &Row, room: usize| {
        let chain = chain(loaded, row.node, 1, DEPTH);
        let chain = if chain.is_empty() { "(no caller)".to_owned() } else { format!("< {chain}") };
        style.paint(Role::Detail, fit(&chain, room).into_owned())
    };
    if let [row] = group.rows[..] {
        let blank = " ".repeat(Columns::WIDTH);
        return writeln!(out, "{blank}{}", callers(&row, room));
    }
    let shown = group.rows.len().min(STACKS);
    for row in &group.rows[..shown] {
        writeln!(out, "{}  {}", columns.row(metric.of(&row.cost)), callers(row, room.saturating_sub(2)))?;
    }
    let rest = group.rows[shown..].iter().map(|row| metric.of(&row.cost));
    remainder(out, columns, rest, "more stack", "  ")
}

/// The name, and where it allocates when all its stacks agree.
fn group_name(loaded: &Loaded, group: &Group, room: usize) -> String {
    let mut steps = group.rows.iter().map(|row| meaningful(&loaded.tables, &loaded.names, row.node).next());
    let Some(Some((_, first))) = steps.next() else { return "[no stack]".to_owned() };
    let name = function(&loaded.names, &first);
    let agree =
        steps.all(|step| step.is_some_and(|(_, step)| (step.file, step.line) == (first.file, first.line)));
    match detail(loaded, &first).filter(|_| agree) {
        Some(detail) => {
            let detail = format!(" ({detail})");
            let name = fit(&name, room.saturating_sub(super::escape::columns(&detail)).max(20)).into_owned();
            fit(&format!("{name}{detail}"), room).into_owned()
        }
        None => fit(&name, room).into_owned(),
    }
}

/// One row for what is left out.
pub(super) fn remainder(
    out: &mut dyn Write,
    columns: &Columns,
    hidden: impl ExactSizeIterator<Item = Amount>,
    noun: &str,
    indent: &str,
) -> io::Result<()> {
    let number = hidden.len();
    if number == 0 {
        return Ok(());
    }
    let total = hidden.fold(Amount::ZERO, |sum, amount| sum + amount);
    let text = format!("{} not shown", counted(number as u64, noun));
    writeln!(out, "{}{indent}{}", columns.row(total), columns.style.paint(Role::Detail, text))
}
