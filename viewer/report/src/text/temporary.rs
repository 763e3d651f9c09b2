//! `temporary`: short-lived allocations.

use super::headline::headline;
use super::stack_line::{header, rest, stack_line};
use super::style::Style;
use analysis::format::{count, counted, duration, percent};
use analysis::lifetimes::TemporaryRow;
use analysis::{Amount, Metric};
use engine::Loaded;
use std::io::{self, Write};

/// Writes at most `limit` stacks with temporary allocations.
///
/// # Errors
/// Those of the writer.
pub fn temporary(
    out: &mut dyn Write,
    loaded: &Loaded,
    rows: &[TemporaryRow],
    limit_ns: u64,
    limit: usize,
    style: &Style,
) -> io::Result<()> {
    headline(out, loaded, Metric::Temporary, style)?;
    let brief = rows.iter().fold(Amount::ZERO, |sum, row| sum + row.brief).blocks;
    writeln!(out, "  brief: freed within {}, {}\n", duration(limit_ns), counted(brief, "allocation"))?;
    let rows: Vec<&TemporaryRow> =
        rows.iter().filter(|row| !row.immediate.is_zero() || !row.brief.is_zero()).collect();
    header(
        out,
        style,
        &format!("{:>12}  {:>12}  {:>7}  {:>12}  stack", "allocations", "temporary", "share", "brief"),
    )?;
    for row in rows.iter().take(limit) {
        let (all, immediate) = (row.allocated.blocks, row.immediate.blocks);
        let share = percent(immediate, all);
        let stack = stack_line(loaded, row.node, style, 51);
        writeln!(
            out,
            "{:>12}  {:>12}  {share:>7}  {:>12}  {stack}",
            count(all),
            count(immediate),
            count(row.brief.blocks)
        )?;
    }
    rest(out, style, rows.len().saturating_sub(limit), "more stack")
}
