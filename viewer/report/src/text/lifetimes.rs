//! `lifetimes`: how long blocks live, by size and by stack.

use super::headline::headline;
use super::stack_line::{header, heading, rest, stack_line};
use super::style::{Role, Style};
use analysis::Metric;
use analysis::format::{bytes, count, percent};
use analysis::lifetimes::{Age, LifeTable, SizeClass};
use engine::Loaded;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Writes the map of sizes and lifetimes, and the histograms of at most `limit` stacks.
///
/// # Errors
/// Those of the writer.
pub fn lifetimes(
    out: &mut dyn Write,
    loaded: &Loaded,
    table: &LifeTable,
    limit: usize,
    style: &Style,
) -> io::Result<()> {
    headline(out, loaded, Metric::Allocations, style)?;
    writeln!(out, "  to the end: never freed, or freed without a record\n")?;
    map(out, table, style)?;
    heading(out, style, "By stack")?;
    header(out, style, &format!("{:>12}  {:>11}  {:>7}  lifetime", "blocks", "bytes", "share"))?;
    for row in table.stacks.iter().take(limit) {
        let stack = style.paint(Role::Function, stack_line(loaded, row.node, style, 36));
        writeln!(out, "{:>12}  {:>11}  {:>7}  {stack}", count(row.total.blocks), bytes(row.total.bytes), "")?;
        for (age, amount) in &row.ages {
            let share = percent(amount.blocks, row.total.blocks);
            writeln!(out, "{:>12}  {:>11}  {share:>7}    {age}", count(amount.blocks), bytes(amount.bytes))?;
        }
    }
    rest(out, style, table.stacks.len().saturating_sub(limit), "more stack")
}

/// Numbers of blocks: a line per size class, a column per lifetime class; empty classes are left out.
fn map(out: &mut dyn Write, table: &LifeTable, style: &Style) -> io::Result<()> {
    let ages: BTreeSet<Age> = table.map.iter().map(|cell| cell.age).collect();
    let mut lines: BTreeMap<SizeClass, BTreeMap<Age, i64>> = BTreeMap::new();
    for cell in &table.map {
        lines.entry(cell.size).or_default().insert(cell.age, cell.amount.blocks);
    }
    let titles: String = ages.iter().map(|age| format!("  {:>11}", age.to_string())).collect();
    header(out, style, &format!("{:>12}{titles}", "size"))?;
    for (size, line) in lines {
        let cell =
            |age: &Age| format!("  {:>11}", line.get(age).map_or(String::new(), |blocks| count(*blocks)));
        let cells: String = ages.iter().map(cell).collect();
        writeln!(out, "{:>12}{cells}", size.to_string())?;
    }
    Ok(())
}
