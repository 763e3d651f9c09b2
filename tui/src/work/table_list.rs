//! The list of a table: a row for each of its rows, with its numbers and what is below it in the details.

use super::stack_list::{LIST_ROWS, StackList, StackRow, WIDE, place_in, place_of};
use crate::catalogue;
use engine::Loaded;
use heap_graph::Pace;
use report::table::{Row, Table, Value};
use report::text::{columns, words};
use std::sync::Arc;

/// Most rows below a row in its details.
const BELOW: usize = 5;

/// The list of a table below these notes.
pub(super) fn table_list(loaded: Arc<Loaded>, about: Vec<String>, table: &Table) -> StackList {
    table_list_at(loaded, about, table, catalogue::SEE_BY_CHOOSING, &Pace::default())
        .expect("nobody gives up")
}

/// The same, with the way to see more rows; none when nobody wants it any more.
pub(super) fn table_list_at(
    loaded: Arc<Loaded>,
    about: Vec<String>,
    table: &Table,
    way: &str,
    pace: &Pace<'_>,
) -> Option<StackList> {
    let said = |value: &Value| words(&loaded, value, WIDE);
    let shown =
        table.columns.iter().enumerate().filter_map(|(at, column)| Some((at, column.title.as_deref()?)));
    let (shown, titles): (Vec<usize>, Vec<String>) = shown.map(|(at, title)| (at, title.to_owned())).unzip();
    let mut made: Vec<(Vec<String>, StackRow)> = Vec::new();
    for row in table.for_people().take(LIST_ROWS) {
        pace.steps(2 * Pace::ROW)?;
        let cells = shown.iter().map(|&at| row.cells.get(at).map_or_else(String::new, said));
        let place = match (row.name.place(), row.stack()) {
            (Some((file, line)), _) => place_in(&loaded, file, line),
            (None, stack) => stack.and_then(|node| place_of(&loaded, node)),
        };
        let (name, node, about) = (said(&row.name), row.stack(), details(&loaded, table, row));
        made.push((
            cells.collect(),
            StackRow { numbers: String::new(), name, node, place, mark: None, about },
        ));
    }
    let width = |(at, place): (usize, &usize)| {
        let cells = made.iter().map(|(cells, _)| columns(&cells[at]));
        cells.chain([columns(&titles[at]), table.columns[*place].width]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = shown.iter().enumerate().map(width).collect();
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| " ".repeat(width - columns(cell)) + cell);
        cells.collect::<Vec<_>>().join("  ")
    };
    let rows = made.into_iter().map(|(cells, row)| StackRow { numbers: line(&cells), ..row });
    let left_out = table.for_people().count().saturating_sub(LIST_ROWS);
    let rows = rows.chain(StackRow::of_others(left_out, way)).collect();
    // The first two numbers are shown on a narrow screen.
    let take =
        |number: usize| widths.iter().take(number).map(|width| width + 2).sum::<usize>().saturating_sub(2);
    let (header, numbers) = (format!("{}  {}", line(&titles), table.heading), [take(usize::MAX), take(2)]);
    Some(StackList { about, header, numbers, rows, left_out, loaded: loaded.clone() })
}

/// The numbers of a row, which a narrow screen cuts, and what is below it, a line each: `never freed: bytes 64 B, blocks 1`.
fn details(loaded: &Loaded, table: &Table, row: &Row) -> Vec<String> {
    let numbers = |row: &Row| {
        let cells = table.columns.iter().zip(&row.cells);
        let numbers = cells.filter_map(|(column, value)| {
            let (title, text) = (column.title.as_deref()?, words(loaded, value, WIDE));
            (!text.is_empty()).then(|| format!("{title} {text}"))
        });
        numbers.collect::<Vec<_>>().join(", ")
    };
    let sentence = |row: &Row| {
        let (name, numbers) = (words(loaded, &row.name, WIDE), numbers(row));
        if numbers.is_empty() { name } else { format!("{name}: {numbers}") }
    };
    let more = row.below.len().saturating_sub(BELOW);
    let rest = (more > 0).then(|| catalogue::more_stacks(more));
    std::iter::once(numbers(row)).chain(row.below.iter().take(BELOW).map(sentence)).chain(rest).collect()
}
