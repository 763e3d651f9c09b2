//! A query in SQL, and its answer.

use super::Error;
use super::database::fill;
use analysis::query::nearest;
use engine::{Events, Loaded};
use report::csv::cell;
use report::text::escape;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, Statement};
use std::io::{self, Write};

/// How rows are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Columns separated by tabs, with a header, for people.
    #[default]
    Text,
    /// As in RFC 4180, with a header.
    Csv,
    /// One document per row.
    Json,
}

/// Answers a statement about a capture, which is loaded into a temporary database. Events are read only if the
/// statement mentions blocks or failed allocations.
///
/// # Errors
/// When the statement is wrong, or has two columns with the same name for [`Form::Json`], or the capture cannot be
/// read.
pub fn query(
    out: &mut dyn Write,
    loaded: &Loaded,
    events: &dyn Events,
    statement: &str,
    form: Form,
) -> Result<(), Error> {
    // An unnamed file, which `SQLite` keeps in memory as long as it fits.
    let mut connection = Connection::open("")?;
    let lower = statement.to_ascii_lowercase();
    let asks_events = ["blocks", "failed_allocations"].iter().any(|table| lower.contains(table));
    fill(&mut connection, loaded, asks_events.then_some(events))?;
    // Queries must not change anything.
    connection.pragma_update(None, "query_only", true)?;
    let mut statement = one(&connection, statement)?;
    write(out, &mut statement, form)
}

/// The single statement in a text.
fn one<'c>(connection: &'c Connection, text: &str) -> Result<Statement<'c>, Error> {
    match connection.prepare(text) {
        Err(rusqlite::Error::MultipleStatement) => Err(Error::Statements),
        Ok(statement) if statement.column_count() == 0 => Err(Error::Statements),
        Err(error) => Err(match hint(connection, &error.to_string())? {
            Some(hint) => Error::Unknown { error, hint },
            None => error.into(),
        }),
        Ok(statement) => Ok(statement),
    }
}

/// What there is in place of a table or a column that does not exist.
fn hint(connection: &Connection, error: &str) -> Result<Option<String>, Error> {
    let names = |statement: &str| -> Result<Vec<String>, Error> {
        let mut statement = connection.prepare(statement)?;
        let names = statement.query_map([], |row| row.get(0))?;
        Ok(names.collect::<Result<_, _>>()?)
    };
    if error.contains("no such table") {
        let tables = names("select name from sqlite_schema where type = 'table' order by name")?;
        return Ok(Some(format!("there are {}", tables.join(", "))));
    }
    let Some((_, column)) = error.split_once("no such column: ") else { return Ok(None) };
    let column = column.split_whitespace().next().unwrap_or_default();
    let column = column.rsplit('.').next().unwrap_or_default();
    let columns = names(
        "select t.name || '.' || c.name from sqlite_schema t, pragma_table_info(t.name) c where t.type = 'table'",
    )?;
    let nearest = nearest(column, columns.iter());
    Ok((!nearest.is_empty()).then(|| format!("did you mean {}?", nearest.join(" or "))))
}

fn write(out: &mut dyn Write, statement: &mut Statement, form: Form) -> Result<(), Error> {
    let names: Vec<String> = statement.column_names().map(ToOwned::to_owned).collect();
    match form {
        Form::Text => writeln!(out, "{}", names.join("\t"))?,
        Form::Csv => {
            let names: Vec<String> = names.iter().map(|name| cell(name)).collect();
            write!(out, "{}\r\n", names.join(","))?;
        }
        Form::Json => {
            let same = (1..names.len()).find(|&column| names[..column].contains(&names[column]));
            if let Some(column) = same {
                return Err(Error::SameName(names[column].clone()));
            }
        }
    }
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        match form {
            Form::Text => line(out, row, names.len())?,
            Form::Csv => record(out, row, names.len())?,
            Form::Json => object(out, row, &names)?,
        }
    }
    Ok(())
}

/// A value as text; binary data in hexadecimal.
pub(super) fn shown(value: ValueRef) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(value) => value.to_string(),
        ValueRef::Real(value) => value.to_string(),
        ValueRef::Text(value) => String::from_utf8_lossy(value).into_owned(),
        ValueRef::Blob(value) => value.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

fn line(out: &mut dyn Write, row: &Row, columns: usize) -> Result<(), Error> {
    for column in 0..columns {
        let value = shown(row.get_ref(column)?);
        write!(out, "{}{}", if column > 0 { "\t" } else { "" }, escape(&value))?;
    }
    Ok(writeln!(out)?)
}

fn record(out: &mut dyn Write, row: &Row, columns: usize) -> Result<(), Error> {
    for column in 0..columns {
        let value = row.get_ref(column)?;
        let text = match value {
            ValueRef::Text(_) => cell(&shown(value)),
            value => shown(value),
        };
        write!(out, "{}{text}", if column > 0 { "," } else { "" })?;
    }
    Ok(write!(out, "\r\n")?)
}

fn object(out: &mut dyn Write, row: &Row, names: &[String]) -> Result<(), Error> {
    let mut object = serde_json::Map::new();
    for (column, name) in names.iter().enumerate() {
        let value = row.get_ref(column)?;
        let value = match value {
            ValueRef::Null => serde_json::Value::Null,
            ValueRef::Integer(value) => value.into(),
            ValueRef::Real(value) => value.into(),
            value => shown(value).into(),
        };
        object.insert(name.clone(), value);
    }
    serde_json::to_writer(&mut *out, &object).map_err(io::Error::from)?;
    Ok(writeln!(out)?)
}
