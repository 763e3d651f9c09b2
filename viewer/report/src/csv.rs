//! Documents as comma-separated values, as in RFC 4180: lines end in CRLF, texts are quoted, and none is a formula.
//!
//! Numbers are exact: bytes, nanoseconds, shares from 0 to 1. Stacks are written outermost function first, separated by
//! semicolons. An empty line stands between two tables. Where rows have others below them, a first column has their level.

mod cell;
mod folded;

pub use cell::cell;
pub use folded::folded;

use crate::table::{Column, Document, Layout, Row, Table, Value};
use crate::text::{escape, words};
use analysis::functions_of;
use engine::Loaded;
use std::borrow::Cow;
use std::io::{self, Write};

/// Writes a document, all rows of it.
///
/// # Errors
/// Those of the writer.
pub fn csv(out: &mut dyn Write, loaded: &Loaded, document: &Document) -> io::Result<()> {
    for (place, table) in document.for_people().enumerate() {
        if place > 0 {
            write!(out, "\r\n")?;
        }
        write_table(out, loaded, table)?;
    }
    Ok(())
}

fn write_table(out: &mut dyn Write, loaded: &Loaded, table: &Table) -> io::Result<()> {
    // Paragraphs have no columns for people; what they say stands in the fields for programs.
    let is_spaced = table.layout == Layout::Paragraphs;
    let has_levels = !is_spaced && table.for_people().any(|row| !row.below.is_empty());
    let is_shown = |column: &Column| column.title.is_some() || is_spaced;
    let shown: Vec<usize> = (0..table.columns.len()).filter(|&at| is_shown(&table.columns[at])).collect();
    let mut heads: Vec<&str> = shown.iter().map(|&at| head(&table.columns[at])).collect();
    heads.extend(Some(table.heading).filter(|heading| !heading.is_empty()));
    let heads: Vec<String> = has_levels.then_some("level").into_iter().chain(heads).map(cell).collect();
    write!(out, "{}\r\n", heads.join(","))?;
    let mut line = |level: usize, row: &Row| {
        let level = has_levels.then(|| level.to_string());
        let cells =
            shown.iter().map(|&at| row.cells.get(at).map_or(String::new(), |value| exact(loaded, value)));
        let name = Some(&row.name).filter(|_| !table.heading.is_empty()).map(|name| exact(loaded, name));
        let cells: Vec<String> = level.into_iter().chain(cells).chain(name).collect();
        write!(out, "{}\r\n", cells.join(","))
    };
    for row in table.for_people().filter(|row| !row.name.is_rest()) {
        line(0, row)?;
        row.below.iter().filter(|row| has_levels && !row.name.is_rest()).try_for_each(|row| line(1, row))?;
    }
    Ok(())
}

/// The field of a column, or its heading.
fn head(column: &Column) -> &str {
    column.key.filter(|key| !key.is_empty()).or(column.title.as_deref()).unwrap_or_default()
}

/// A value as a cell.
fn exact(loaded: &Loaded, value: &Value) -> String {
    match value {
        Value::Empty | Value::Unknown => String::new(),
        Value::Flag(flag) => flag.to_string(),
        Value::Count(number) | Value::Counted(number, _) | Value::Bytes(number) => number.to_string(),
        Value::Id(number) | Value::Duration(number) | Value::Time(number) => number.to_string(),
        Value::Factor(factor) => factor.to_string(),
        Value::Cpu(weight) => weight.to_string(),
        Value::About(number, _) | Value::Marked(number) | Value::Change(number) => exact(loaded, number),
        Value::Share(_, 0) | Value::Bar(_, 0) => "0".to_owned(),
        Value::Share(part, whole) | Value::Bar(part, whole) => format!("{:.6}", *part as f64 / *whole as f64),
        value => cell(&text(loaded, value)),
    }
}

fn text<'a>(loaded: &'a Loaded, value: &'a Value) -> Cow<'a, str> {
    let names = &loaded.names;
    match value {
        Value::Stack(node) | Value::Innermost(node, _) | Value::Frames(node) => {
            let functions = functions_of(&loaded.tables, names, *node);
            let mut names: Vec<Cow<'_, str>> =
                functions.map(|(_, step)| folded(&names.label(step.label).name)).collect();
            names.reverse();
            names.join(";").into()
        }
        Value::Function(label) => escape(&names.label(*label).name),
        Value::Phrase(parts) => parts.iter().map(|part| text(loaded, part)).collect::<String>().into(),
        Value::List(values) => {
            values.iter().map(|value| text(loaded, value)).collect::<Vec<_>>().join("; ").into()
        }
        Value::Record(fields) => {
            fields.iter().map(|(_, value)| text(loaded, value)).collect::<Vec<_>>().join("; ").into()
        }
        value => words(loaded, value, usize::MAX).into(),
    }
}
