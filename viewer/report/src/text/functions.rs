//! A table of functions: what they allocate themselves, and including all that they call.

use super::columns::Columns;
use super::place::fit_name;
use super::stack_line::not_shown;
use super::stacks::row_noun;
use super::style::{Role, Style};
use analysis::{Amount, Cutoff, LabelId, Metric, Spread, ranked_functions};
use engine::Loaded;
use std::io::{self, Write};

/// Writes the table. Functions that call each other overlap, so the hidden ones have no sum.
pub(super) fn functions(
    out: &mut dyn Write,
    loaded: &Loaded,
    metric: Metric,
    cutoff: Cutoff,
    style: &Style,
) -> io::Result<()> {
    let Loaded { profile, tables, names, .. } = loaded;
    let columns = Columns::new(loaded, metric, metric.of(&profile.total), style);
    let header = format!("{}{}  {}", columns.header(), Columns::single_header("self"), row_noun(loaded));
    writeln!(out, "{}", style.paint(Role::Detail, header))?;
    let costs = ranked_functions(profile, tables, names, metric);
    let shown = cutoff.shown(costs.iter().map(|cost| metric.rank(cost.total)));
    let room = style.room(Columns::WIDTH + Columns::SINGLE + 2);
    let everything = fit_name(names, LabelId::EVERYTHING, room);
    writeln!(
        out,
        "{}{}  {everything}",
        columns.row(columns.total, metric.of(&profile.total_spread)),
        columns.single(Amount::ZERO, Spread::ZERO)
    )?;
    for cost in &costs[..shown] {
        let label = style.paint(Role::Function, fit_name(names, cost.label, room));
        writeln!(
            out,
            "{}{}  {label}",
            columns.row(cost.total, cost.total_spread),
            columns.single(cost.own, cost.own_spread)
        )?;
    }
    match costs.len() - shown {
        0 => Ok(()),
        hidden => {
            let option = cutoff.option(metric.rank(costs[shown].total));
            let text = not_shown(hidden, &format!("smaller {}", row_noun(loaded)), option);
            writeln!(out, "{}", style.paint(Role::Detail, text))
        }
    }
}
