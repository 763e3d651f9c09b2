//! Everything about one function: its lines, and the sizes and lifetimes of its blocks.

use super::columns::Columns;
use super::document::table_lines;
use super::escape::{escape, fit};
use super::extent::Extent;
use super::headline::headline;
use super::line::print;
use super::place::place;
use super::stack_line::{header, rest_by};
use super::style::{Role, Style};
use crate::views::endpoints;
use analysis::format::{bytes, count, percent};
use analysis::{Amount, Metric, Step};
use engine::{FunctionDetail, Loaded, Sources};
use std::cmp::Reverse;
use std::fmt::Display;
use std::io::{self, Write};

/// Width of the longest bar.
const BAR: usize = 24;

/// Writes the details: at most `limit` lines, the most expensive first, each with its source if available.
///
/// # Errors
/// Those of the writer.
pub fn function(
    out: &mut dyn Write,
    loaded: &Loaded,
    detail: &FunctionDetail,
    metric: Metric,
    sources: &mut Sources,
    limit: usize,
    style: &Style,
) -> io::Result<()> {
    let name = &loaded.names.label(detail.label).name;
    writeln!(out, "{}", style.paint(Role::Function, escape(name)))?;
    headline(out, loaded, metric, style)?;
    let mut lines: Vec<_> = detail.lines.iter().filter(|line| !metric.of(&line.cost).is_zero()).collect();
    lines.sort_by_key(|line| (Reverse(metric.order(metric.of(&line.cost))), line.file, line.line));
    let columns = Columns::new(loaded, metric, metric.of(&loaded.profile.total), style);
    writeln!(out, "\n{}", style.paint(Role::Detail, format!("{}line", columns.header())))?;
    for line in lines.iter().take(limit) {
        let step = Step { label: line.label, file: line.file, line: line.line, inlined: false };
        let at = place(loaded, &step).unwrap_or_else(|| "[unknown line]".to_owned());
        let text = line.file.zip(line.line).and_then(|(file, line)| {
            let text = sources.line(loaded.tables.string(file), line)?;
            Some(escape(text.trim()).into_owned())
        });
        let text = text.map_or(at.clone(), |text| format!("{at}  {text}"));
        let numbers = columns.row(metric.of(&line.cost), metric.of(&line.spread));
        let text = fit(&text, style.room(columns.width()));
        writeln!(out, "{numbers}{}", style.paint(Role::Function, text))?;
    }
    rest_by(out, style, lines.len().saturating_sub(limit), "more line", "")?;
    let sizes = detail.shape.sizes.iter().map(|(class, amount)| (class.to_string(), *amount));
    classes(out, "size", sizes.collect(), style)?;
    let ages = detail.shape.ages.iter().map(|(age, amount)| (age.to_string(), *amount));
    classes(out, "lifetime", ages.collect(), style)?;
    let Some(frees) = &detail.frees else { return Ok(()) };
    let extent = Extent { rows: limit, below: limit, has_options: false };
    for (rows, heading) in
        [(&frees.ends, "what became of its blocks"), (&frees.owners, "whose blocks it frees")]
    {
        if !rows.is_empty() {
            writeln!(out)?;
            print(out, &table_lines(loaded, &endpoints(rows, heading), extent, style), style)?;
        }
    }
    Ok(())
}

/// `     1,234   12.3 %    45.6 KiB    ≤ 64 B  ██████`.
fn classes(
    out: &mut dyn Write,
    title: &str,
    rows: Vec<(impl Display, Amount)>,
    style: &Style,
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    header(out, style, &format!("{:>12}  {:>7}  {:>10}  {title:>12}", "allocations", "share", "bytes"))?;
    let total = rows.iter().fold(0_i64, |sum, (_, amount)| sum.wrapping_add(amount.blocks));
    let most = rows.iter().map(|(_, amount)| amount.blocks).max().unwrap_or(0).max(1);
    for (class, amount) in rows {
        let bar = "█"
            .repeat(amount.blocks.saturating_mul(BAR as i64).div_euclid(most).clamp(0, BAR as i64) as usize);
        let class = style.paint(Role::Function, format!("{class:>12}"));
        let (blocks, share) = (count(amount.blocks), percent(amount.blocks, total));
        writeln!(
            out,
            "{blocks:>12}  {share:>7}  {:>10}  {class}  {}",
            bytes(amount.bytes),
            style.paint(Role::Value, bar)
        )?;
    }
    Ok(())
}
