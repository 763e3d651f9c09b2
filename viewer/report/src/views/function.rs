//! One function: its lines, and the sizes and lifetimes of its blocks.

use super::frees::endpoints;
use super::numbers::Numbers;
use crate::table::{Column, Document, Most, Row, Table, Title, Value, phrase};
use analysis::{Amount, Metric};
use capture::StringId;
use engine::{FunctionDetail, Loaded};
use std::cmp::Reverse;

/// The details, the most expensive lines first, each with its source as far as `source` knows it.
pub fn function(
    loaded: &Loaded,
    detail: &FunctionDetail,
    metric: Metric,
    mut source: impl FnMut(StringId, u32) -> Option<String>,
) -> Document {
    let mut lines: Vec<_> = detail.lines.iter().filter(|line| !metric.of(&line.cost).is_zero()).collect();
    lines.sort_by_key(|line| (Reverse(metric.order(metric.of(&line.cost))), line.file, line.line));
    let numbers = Numbers::new(loaded, metric);
    let rows = lines.into_iter().map(|line| {
        let text = line.file.zip(line.line).and_then(|(file, line)| source(file, line));
        let text = text.map_or(Value::Empty, |text| phrase!["  ", text.trim().to_owned()]);
        let cells = numbers.cells(metric.of(&line.cost), metric.of(&line.spread));
        Row::new(cells, phrase![Value::Place(line.file, line.line), text])
    });
    let lines = Table { noun: "more line", ..Table::new("lines", numbers.columns(), "line") }.rows(rows);
    let sizes = detail.shape.sizes.iter().map(|(class, amount)| (Value::Sizes(*class), *amount));
    let ages = detail.shape.ages.iter().map(|(age, amount)| (Value::Age(*age), *amount));
    let mut tables = vec![
        lines,
        classes("Sizes", "size", sizes.collect()),
        classes("Lifetimes", "lifetime", ages.collect()),
    ];
    if let Some(frees) = &detail.frees {
        tables.push(endpoints(&frees.ends, "what became of its blocks").titled("Frees"));
        tables.push(endpoints(&frees.owners, "whose blocks it frees").titled("Owners"));
    }
    let name = Value::name(&loaded.names.label(detail.label).name);
    Document { notes: vec![name], ..Document::new("function", Title::Amount(metric), tables) }
}

/// `     1,234   12.3 %    45.6 KiB    ≤ 64 B  ██████`.
fn classes(title: &'static str, heading: &'static str, rows: Vec<(Value, Amount)>) -> Table {
    let total = rows.iter().fold(0_i64, |sum, (_, amount)| sum.wrapping_add(amount.blocks));
    let most = rows.iter().map(|(_, amount)| amount.blocks).max().unwrap_or(0);
    let columns = [
        Column::shown("allocations").width(12),
        Column::shown("share").width(7),
        Column::shown("bytes"),
        Column::shown(heading).width(12),
    ];
    let rows = rows.into_iter().map(|(class, amount)| {
        let share = Value::Share(amount.blocks, total);
        let cells = [Value::count(amount.blocks), share, Value::bytes(amount.bytes), class];
        Row::new(cells, Value::Bar(amount.blocks, most))
    });
    Table { most: Most::All, ..Table::new("classes", columns, "").titled(title) }.rows(rows)
}
