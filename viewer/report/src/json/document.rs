//! Documents for programs: a field for each value that has one, in the order of the columns.

use super::stack::{Stack, who};
use super::{SCHEMA, cost, write_document};
use crate::table::{self, Document, Head, Row, Table, Value};
use crate::views::fields;
use analysis::LabelId;
use analysis::lifetimes::Age;
use engine::Loaded;
use serde::ser::{Error, SerializeMap};
use serde::{Serialize, Serializer};
use std::io::{self, Write};

/// Fields of a document or a part of it.
pub struct Fields<'a> {
    /// What ids in values refer to.
    pub loaded: &'a Loaded,
    /// The fields.
    pub fields: table::Fields,
}

struct Whole<'a> {
    loaded: &'a Loaded,
    head: table::Fields,
    document: &'a Document,
}

struct Rows<'a> {
    loaded: &'a Loaded,
    table: &'a Table,
    rows: &'a [Row],
    /// True for rows that can have others below them.
    is_top: bool,
}

struct RowFields<'a> {
    row: &'a Row,
    of: &'a Rows<'a>,
}

struct Field<'a> {
    loaded: &'a Loaded,
    value: &'a Value,
}

/// Writes a document.
///
/// # Errors
/// Those of the writer.
pub fn document(out: &mut dyn Write, loaded: &Loaded, document: &Document) -> io::Result<()> {
    let mut head = kind(document.id);
    if document.head != Head::Kind {
        head.extend(fields::head(loaded));
    }
    if document.head == Head::Selection {
        head.extend(fields::selection(loaded));
    }
    write_document(out, &Whole { loaded, head, document })
}

/// What every document begins with.
pub(super) fn kind(id: &'static str) -> table::Fields {
    vec![("schema", Value::Id(SCHEMA.into())), ("document", id.into())]
}

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Self { loaded, document, .. } = self;
        let mut map = serializer.serialize_map(None)?;
        write_fields(&mut map, loaded, &self.head)?;
        write_fields(&mut map, loaded, &document.fields)?;
        for table in document.for_programs() {
            map.serialize_entry(table.id, &Rows { loaded, table, rows: &table.rows, is_top: true })?;
        }
        write_fields(&mut map, loaded, &document.more)?;
        map.end()
    }
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        write_fields(&mut map, self.loaded, &self.fields)?;
        map.end()
    }
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.rows.iter().map(|row| RowFields { row, of: self }))
    }
}

impl Serialize for RowFields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { row, of: &Rows { loaded, table, is_top, .. } } = *self;
        let mut map = serializer.serialize_map(None)?;
        if let Some(key) = if is_top { table.key } else { table.below.key } {
            field(&mut map, loaded, key, &row.name)?;
        }
        for (column, value) in table.columns.iter().zip(&row.cells) {
            if let Some(key) = column.key {
                field(&mut map, loaded, key, value)?;
            }
        }
        if let Some(key) = table.below.id.filter(|_| is_top) {
            map.serialize_entry(key, &Rows { loaded, table, rows: &row.below, is_top: false })?;
        }
        map.end()
    }
}

fn write_fields<M: SerializeMap>(
    map: &mut M,
    loaded: &Loaded,
    fields: &[(&'static str, Value)],
) -> Result<(), M::Error> {
    fields.iter().try_for_each(|(key, value)| field(map, loaded, key, value))
}

/// Writes a field, or those of a value that has several and none of its own.
fn field<M: SerializeMap>(
    map: &mut M,
    loaded: &Loaded,
    key: &'static str,
    value: &Value,
) -> Result<(), M::Error> {
    match value {
        Value::Empty => Ok(()),
        value if !key.is_empty() => map.serialize_entry(key, &Field { loaded, value }),
        Value::Amount(amount) => {
            map.serialize_entry("blocks", &amount.blocks)?;
            map.serialize_entry("bytes", &amount.bytes)
        }
        Value::Estimate(amount, spread) => {
            field(map, loaded, "", &Value::Amount(*amount))?;
            if loaded.profile.sampling.is_none() {
                return Ok(());
            }
            map.serialize_entry("blocks_stderr", &spread.blocks_error())?;
            map.serialize_entry("bytes_stderr", &spread.bytes_error())
        }
        Value::Costs(costs) => cost::fields(map, loaded, &costs.0, &costs.1),
        Value::Errors(errors) => {
            errors.iter().try_for_each(|(key, error)| map.serialize_entry(&format!("{key}_stderr"), error))
        }
        Value::Age(age) => {
            map.serialize_entry("below_ns", &age.end_ns())?;
            map.serialize_entry("ended", &(*age != Age::LEFT))
        }
        Value::Sizes(class) => {
            map.serialize_entry("first", &class.first())?;
            map.serialize_entry("last", &class.last())
        }
        Value::Who(label) => who(&loaded.tables, &loaded.names, *label).fields(map),
        Value::Record(fields) => write_fields(map, loaded, fields),
        value => Err(M::Error::custom(format_args!("{value:?} has no fields of its own"))),
    }
}

impl Serialize for Field<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Self { loaded, value } = self;
        let tables = &loaded.tables;
        match value {
            Value::Empty | Value::Unknown | Value::Function(LabelId::EVERYTHING) => {
                serializer.serialize_none()
            }
            Value::Text(text) => serializer.serialize_str(text),
            Value::Flag(flag) => serializer.serialize_bool(*flag),
            Value::Count(number) | Value::Counted(number, _) | Value::Bytes(number) => {
                serializer.serialize_i128(*number)
            }
            Value::Cpu(weight) => serializer.serialize_i64(*weight),
            Value::About(number, _) | Value::Marked(number) | Value::Change(number) => {
                Field { loaded, value: number }.serialize(serializer)
            }
            Value::Share(part, whole) => serializer.serialize_f64(*part as f64 / *whole as f64),
            Value::Id(number) | Value::Duration(number) | Value::Time(number) => {
                serializer.serialize_u64(*number)
            }
            Value::Factor(factor) => serializer.serialize_f64(*factor),
            Value::Ages(ages) => serializer.collect_seq(ages.iter().map(|&(age, amount)| Fields {
                loaded,
                fields: vec![("", Value::Age(age)), ("", Value::Amount(amount))],
            })),
            Value::Address(address) => serializer.serialize_str(&format!("{address:#x}")),
            Value::Stack(node) | Value::Innermost(node, _) | Value::Frames(node) => {
                Stack { tables, names: &loaded.names, node: *node }.serialize(serializer)
            }
            Value::Function(label) => serializer.serialize_str(&loaded.names.label(*label).name),
            Value::Thread(id) => tables
                .threads
                .get(id.index())
                .map(|row| Fields {
                    loaded,
                    fields: vec![
                        ("pid", Value::Process(row.process)),
                        ("tid", Value::Id(row.tid.into())),
                        ("name", Value::name(&row.name)),
                    ],
                })
                .serialize(serializer),
            Value::Process(id) => tables.processes.get(id.index()).map(|row| row.pid).serialize(serializer),
            Value::List(values) => serializer.collect_seq(values.iter().map(|value| Field { loaded, value })),
            Value::Listed(names, _) => names.serialize(serializer),
            Value::Texts(texts) => texts.serialize(serializer),
            Value::Phrase(_)
            | Value::Bar(..)
            | Value::Error(..)
            | Value::Place(..)
            | Value::Rest(..)
            | Value::Errors(_) => Err(S::Error::custom("this is for people")),
            value => {
                let mut map = serializer.serialize_map(None)?;
                field(&mut map, loaded, "", value)?;
                map.end()
            }
        }
    }
}
