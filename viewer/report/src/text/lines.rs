//! `lines`: the cost of each source line.

use super::columns::Columns;
use super::escape::fit;
use super::headline::{headline, nothing};
use super::place::{fit_name, place};
use super::stacks::remainder;
use super::style::{Role, Style};
use crate::options::ReportOptions;
use analysis::{LabelId, LineCost, Step};
use engine::Loaded;
use std::cmp::Reverse;
use std::io::{self, Write};

/// Writes the lines that cost most; the report shape in the options is ignored.
///
/// # Errors
/// Those of the writer.
pub fn lines(
    out: &mut dyn Write,
    loaded: &Loaded,
    mut rows: Vec<LineCost>,
    options: &ReportOptions,
    style: &Style,
) -> io::Result<()> {
    let metric = options.metric;
    let cutoff = options.cutoff_for_text(loaded);
    headline(out, loaded, metric, style)?;
    rows.retain(|row| !metric.of(&row.cost).is_zero());
    if rows.is_empty() {
        return nothing(out, loaded, metric);
    }
    rows.sort_by_key(|row| Reverse(metric.order(metric.of(&row.cost))));
    let columns = Columns::new(loaded, metric, metric.of(&loaded.profile.total), style);
    writeln!(out, "\n{}", style.paint(Role::Detail, format!("{}line", columns.header())))?;
    let shown = cutoff.shown(rows.iter().map(|row| metric.rank(metric.of(&row.cost))));
    for row in &rows[..shown] {
        let step = Step { label: row.label, file: row.file, line: row.line, inlined: false };
        let room = style.room(columns.width());
        let name = match row.label {
            LabelId::EVERYTHING => "[no stack]".to_owned(),
            label => fit_name(&loaded.names, label, room),
        };
        let text = place(loaded, &step).map_or(name.clone(), |place| format!("{place}  {name}"));
        let numbers = columns.row(metric.of(&row.cost), metric.of(&row.spread));
        writeln!(out, "{numbers}{}", style.paint(Role::Function, fit(&text, room)))?;
    }
    let hidden = rows[shown..].iter().map(|row| (metric.of(&row.cost), metric.of(&row.spread)));
    let option = rows.get(shown).map_or("", |largest| cutoff.option(metric.rank(metric.of(&largest.cost))));
    remainder(out, &columns, hidden, "smaller line", option, "")
}
