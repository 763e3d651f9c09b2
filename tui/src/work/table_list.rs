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
    let (shown, mut heads): (Vec<usize>, Vec<String>) =
        shown.map(|(at, title)| (at, title.to_owned())).unzip();
    let mut rows: Vec<StackRow> = Vec::new();
    for row in table.for_people().take(LIST_ROWS) {
        pace.steps(2 * Pace::ROW)?;
        let numbers = shown.iter().map(|&at| row.cells.get(at).map_or_else(String::new, said)).collect();
        let place = match (row.name.place(), row.stack()) {
            (Some((file, line)), _) => place_in(&loaded, file, line),
            (None, stack) => stack.and_then(|node| place_of(&loaded, node)),
        };
        let (name, node, about) = (said(&row.name), row.stack(), details(&loaded, table, row));
        rows.push(StackRow { numbers, name, node, place, mark: None, about });
    }
    let width = |(at, place): (usize, &usize)| {
        let cells = rows.iter().map(|row| columns(&row.numbers[at]));
        cells.chain([columns(&heads[at]), table.columns[*place].width]).max().unwrap_or(0)
    };
    let widths = shown.iter().enumerate().map(width).collect();
    heads.push(table.heading.to_owned());
    let left_out = table.for_people().count().saturating_sub(LIST_ROWS);
    rows.extend(StackRow::of_others(left_out, way));
    // The first two numbers are shown on a narrow screen.
    Some(StackList { about, heads, widths, narrow: 2, rows, left_out, loaded: loaded.clone() })
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
