//! The list of a table: a row for each of its rows, with what is below it in the details.

use super::stack_list::{LIST_ROWS, StackList, StackRow, WIDE, place_of};
use crate::catalogue;
use engine::Loaded;
use report::table::{Document, Row, Table};
use report::text::{Extent, Style, columns, table_lines, words};
use std::sync::Arc;

/// Most rows below a row in its details.
const BELOW: usize = 5;

/// Columns of a narrow screen: the first two numbers.
const NARROW: usize = 22;

/// The list of a table, with the notes of its document.
pub(super) fn table_list(loaded: Arc<Loaded>, document: &Document, table: &Table) -> StackList {
    let extent = Extent { rows: LIST_ROWS, below: 0, has_options: false };
    let style = Style { color: false, width: Some(WIDE) };
    let mut lines = table_lines(&loaded, table, extent, &style).into_iter();
    let header: String = lines.next().into_iter().flatten().map(|(_, text)| text).collect();
    let all = table.for_people().count();
    let rows = table.for_people().zip(lines).take(LIST_ROWS).map(|(row, mut line)| {
        let name = line.pop().map_or_else(String::new, |(_, text)| text);
        let numbers: String = line.into_iter().map(|(_, text)| text).collect();
        StackRow {
            // The blanks before the name are the screen's.
            numbers: numbers.strip_suffix("  ").unwrap_or(&numbers).to_owned(),
            name,
            node: row.stack(),
            place: row.stack().and_then(|node| place_of(&loaded, node)),
            mark: None,
            about: details(&loaded, table, row),
        }
    });
    let left_out = all.saturating_sub(LIST_ROWS);
    let rows = rows.chain(StackRow::of_others(left_out, catalogue::SEE_BY_CHOOSING)).collect();
    let about = document.notes.iter().map(|note| words(&loaded, note, WIDE)).collect();
    let wide = columns(&header).saturating_sub(columns(table.heading) + 2);
    StackList { about, header, numbers: [wide, NARROW], rows, left_out, loaded: loaded.clone() }
}

/// What is below a row, a line each: `never freed: bytes 64 B, blocks 1`.
fn details(loaded: &Loaded, table: &Table, row: &Row) -> Vec<String> {
    let sentence = |row: &Row| {
        let cells = table.columns.iter().zip(&row.cells);
        let numbers = cells.filter_map(|(column, value)| {
            let (title, text) = (column.title.as_deref()?, words(loaded, value, WIDE));
            (!text.is_empty()).then(|| format!("{title} {text}"))
        });
        let numbers = numbers.collect::<Vec<_>>().join(", ");
        let name = words(loaded, &row.name, WIDE);
        if numbers.is_empty() { name } else { format!("{name}: {numbers}") }
    };
    let more = row.below.len().saturating_sub(BELOW);
    let rest = (more > 0).then(|| catalogue::more_stacks(more));
    row.below.iter().take(BELOW).map(sentence).chain(rest).collect()
}
