//! `sizes`: which sizes are requested, and by whom.

use super::headline::headline;
use super::stack_line::{header, rest, stack_line};
use super::style::{Role, Style};
use analysis::Metric;
use analysis::format::{bytes, count, percent};
use analysis::lifetimes::SizeTable;
use engine::Loaded;
use std::io::{self, Write};

/// Writes a row per class, each followed by the stacks that request it most, at most `limit`.
///
/// # Errors
/// Those of the writer.
pub fn sizes(
    out: &mut dyn Write,
    loaded: &Loaded,
    table: &SizeTable,
    limit: usize,
    style: &Style,
) -> io::Result<()> {
    headline(out, loaded, Metric::Allocations, style)?;
    let slack = table.classes.iter().fold(0_i64, |sum, row| sum.wrapping_add(row.slack));
    let total = loaded.profile.total.allocated;
    writeln!(
        out,
        "  slack: glibc's malloc would round these up by {} in total (a model; other allocators differ)\n",
        bytes(slack)
    )?;
    header(
        out,
        style,
        &format!("{:>12}  {:>7}  {:>11}  {:>11}  {:>12}", "allocations", "share", "bytes", "slack", "size"),
    )?;
    for row in &table.classes {
        let numbers = (count(row.allocated.blocks), percent(row.allocated.blocks, total.blocks));
        let class = style.paint(Role::Function, format!("{:>12}", row.class.to_string()));
        writeln!(
            out,
            "{:>12}  {:>7}  {:>11}  {:>11}  {class}",
            numbers.0,
            numbers.1,
            bytes(row.allocated.bytes),
            bytes(row.slack)
        )?;
        for (node, amount) in row.stacks.iter().take(limit) {
            let stack = style.paint(Role::Detail, stack_line(loaded, *node, style, 50));
            writeln!(
                out,
                "{:>12}  {:>7}  {:>11}  {:>13}{stack}",
                count(amount.blocks),
                "",
                bytes(amount.bytes),
                ""
            )?;
        }
        rest(out, style, row.stacks.len().saturating_sub(limit), "more stack")?;
    }
    Ok(())
}
