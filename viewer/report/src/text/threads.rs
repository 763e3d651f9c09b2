//! `threads`: which threads allocate, which free, and what passes between them.

use super::escape::escape;
use super::headline::headline;
use super::stack_line::{header, heading, rest, stack_line};
use super::style::Style;
use analysis::format::{bytes, count};
use analysis::lifetimes::ThreadTable;
use analysis::{Metric, process_name};
use capture::{NodeId, ThreadId};
use engine::Loaded;
use std::io::{self, Write};

/// Index of the column of temporary allocations.
const TEMPORARY: usize = 2;

/// Width from which that column is shown.
const WIDE: usize = 100;

/// Writes totals, the matrix without its diagonal, and the stacks behind it, at most `limit` rows of each.
///
/// # Errors
/// Those of the writer.
pub fn threads(
    out: &mut dyn Write,
    loaded: &Loaded,
    table: &ThreadTable,
    limit: usize,
    style: &Style,
) -> io::Result<()> {
    headline(out, loaded, Metric::Bytes, style)?;
    writeln!(out)?;
    // On a narrow terminal, the name matters more than a number that other views show as well.
    let is_shown = |place: &usize| *place != TEMPORARY || style.width.is_none_or(|width| width >= WIDE);
    let columns = |cells: [String; 6]| {
        let shown = cells.into_iter().enumerate().filter(|(place, _)| is_shown(place));
        shown.map(|(_, cell)| format!("{cell:>11}")).collect::<Vec<_>>().join("  ")
    };
    let titles = ["allocations", "bytes", "temporary", "frees", "of others", "not freed"].map(str::to_owned);
    header(out, style, &format!("{}  thread", columns(titles)))?;
    for row in table.threads.iter().take(limit) {
        let numbers = [
            count(row.allocated.blocks),
            bytes(row.allocated.bytes),
            count(row.temporary.blocks),
            count(row.freed.blocks),
            count(row.foreign.blocks),
            bytes(row.left.bytes),
        ];
        writeln!(out, "{}  {}", columns(numbers), name(loaded, row.thread))?;
    }
    rest(out, style, table.threads.len().saturating_sub(limit), "more thread")?;
    if table.crossing.is_empty() {
        return writeln!(out, "\nEvery free was by the thread that allocated the block.");
    }
    heading(out, style, "Allocated by one thread, freed by another")?;
    header(out, style, &format!("{:>11}  {:>11}  threads", "blocks", "bytes"))?;
    let mut pairs: Vec<_> =
        table.pairs.iter().filter(|pair| pair.to.is_some_and(|to| to != pair.from)).collect();
    pairs.sort_by_key(|pair| std::cmp::Reverse((pair.amount.bytes, pair.amount.blocks)));
    for pair in pairs.iter().take(limit) {
        let to = pair.to.map_or(String::new(), |to| name(loaded, to));
        let (blocks, size) = (count(pair.amount.blocks), bytes(pair.amount.bytes));
        writeln!(out, "{blocks:>11}  {size:>11}  {} → {to}", name(loaded, pair.from))?;
    }
    rest(out, style, pairs.len().saturating_sub(limit), "more pair")?;
    heading(out, style, "By stack")?;
    header(out, style, &format!("{:>11}  {:>11}  allocated and freed by", "blocks", "bytes"))?;
    for row in table.crossing.iter().take(limit) {
        let (blocks, size) = (count(row.amount.blocks), bytes(row.amount.bytes));
        writeln!(out, "{blocks:>11}  {size:>11}  {}", stack_line(loaded, row.allocated_by, style, 26))?;
        let freed = match row.freed_by {
            NodeId::ROOT => String::new(),
            stack => format!(": {}", stack_line(loaded, stack, style, 40)),
        };
        writeln!(out, "{:26}{} → {}{freed}", "", name(loaded, row.from), name(loaded, row.to))?;
    }
    rest(out, style, table.crossing.len().saturating_sub(limit), "more pair")
}

/// `worker (5001)`, with the process if there are several.
pub(super) fn name(loaded: &Loaded, thread: ThreadId) -> String {
    let Some(row) = loaded.tables.threads.get(thread.index()) else { return "?".to_owned() };
    let process = loaded.tables.processes.get(row.process.index());
    let of = process.filter(|_| loaded.tables.processes.len() > 1);
    let of = of.map_or(String::new(), |process| format!(" of {}", process_name(process)));
    let name = if row.name.is_empty() { "thread" } else { &row.name };
    escape(&format!("{name} ({}{of})", row.tid)).into_owned()
}
