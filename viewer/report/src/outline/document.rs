//! The tables of a document, as they are in its text, with full names.

use super::{Outline, OutlineRow};
use crate::table::{Column, Document, Row, Table, Value};
use crate::text::{Extent, Shown, title, words};
use engine::Loaded;

/// An outline for each table: the first has the title and the notes of the document.
pub fn outlines(loaded: &Loaded, document: &Document, extent: Extent) -> Vec<Outline> {
    let said = |value: &Value| words(loaded, value, usize::MAX);
    let plain = |line: Vec<(_, String)>| line.into_iter().map(|(_, text)| text.trim().to_owned()).collect();
    let head = title(loaded, document).into_iter().map(plain).chain(document.notes.iter().map(said));
    let mut head: Vec<String> = head.collect();
    let outlines = document.for_people().map(|table| {
        let mut title = std::mem::take(&mut head);
        title.extend(table.title.map(str::to_owned));
        title.extend(table.notes.iter().map(said));
        let shown = |column: &&Column| column.title.is_some();
        let columns = table.columns.iter().filter(shown).filter_map(|column| column.title.as_deref());
        let columns = columns.chain([table.heading]).map(str::to_owned).collect();
        let rows = extent.of(table).into_iter().map(|shown| match shown {
            Shown::Row(row, indent) => of_row(table, row, indent, &said),
            Shown::Rest(name, indent) => {
                OutlineRow { name, indent, is_generated: true, ..OutlineRow::default() }
            }
        });
        Outline { title, columns, rows: rows.collect() }
    });
    outlines.collect()
}

fn of_row(table: &Table, row: &Row, indent: usize, said: &dyn Fn(&Value) -> String) -> OutlineRow {
    let cells = table.columns.iter().zip(&row.cells).filter(|(column, _)| column.title.is_some());
    OutlineRow {
        numbers: cells.map(|(_, value)| said(value)).collect(),
        indent,
        name: said(&row.name),
        is_generated: !matches!(row.name, Value::Stack(_) | Value::Function(_)),
    }
}
