//! Documents for programs: a field for each value that has one, in the order of the columns.

use super::start::{AgeFields, AmountFields, Start, hex, stack, thread};
use super::write_document;
use crate::table::{Document, Row, Table, Value};
use analysis::LabelId;
use analysis::lifetimes::Age;
use capture::ProcessId;
use engine::Loaded;
use serde::ser::{Error, SerializeMap};
use serde::{Serialize, Serializer};
use std::io::{self, Write};

#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    start: Start<'a>,
    #[serde(flatten)]
    rest: Rest<'a>,
}

/// Fields that a document of another kind has as well.
pub struct Fields<'a> {
    /// What ids in values refer to.
    pub loaded: &'a Loaded,
    /// The fields.
    pub fields: Vec<(&'static str, Value)>,
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.fields.iter().try_for_each(|(key, value)| field(&mut map, self.loaded, key, value))?;
        map.end()
    }
}

/// The fields of the document's own.
struct Rest<'a> {
    loaded: &'a Loaded,
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
    let start = Start::new(loaded, document.id);
    write_document(out, &Whole { start, rest: Rest { loaded, document } })
}

impl Serialize for Rest<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Self { loaded, document } = self;
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in &document.fields {
            field(&mut map, loaded, key, value)?;
        }
        for table in document.for_programs() {
            map.serialize_entry(table.id, &Rows { loaded, table, rows: &table.rows, is_top: true })?;
        }
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
        Value::Age(age) => {
            map.serialize_entry("below_ns", &age.end_ns())?;
            map.serialize_entry("ended", &(*age != Age::LEFT))
        }
        Value::Sizes(class) => {
            map.serialize_entry("first", &class.first())?;
            map.serialize_entry("last", &class.last())
        }
        Value::Record(fields) => fields.iter().try_for_each(|(key, value)| field(map, loaded, key, value)),
        value => Err(M::Error::custom(format_args!("{value:?} has no fields of its own"))),
    }
}

impl Serialize for Field<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Self { loaded, value } = self;
        let pid = |process: ProcessId| loaded.tables.processes.get(process.index()).map(|row| row.pid);
        match value {
            Value::Empty | Value::Unknown | Value::Function(LabelId::EVERYTHING) => {
                serializer.serialize_none()
            }
            Value::Text(text) => serializer.serialize_str(text),
            Value::Flag(flag) => serializer.serialize_bool(*flag),
            Value::Count(number) | Value::Counted(number, _) | Value::Bytes(number) => {
                serializer.serialize_i128(*number)
            }
            Value::Amount(amount) => AmountFields::from(*amount).serialize(serializer),
            Value::Share(part, whole) => serializer.serialize_f64(*part as f64 / *whole as f64),
            Value::Id(number) | Value::Duration(number) | Value::Time(number) => {
                serializer.serialize_u64(*number)
            }
            Value::Factor(factor) => serializer.serialize_f64(*factor),
            Value::Ages(ages) => {
                serializer.collect_seq(ages.iter().map(|&(age, amount)| AgeFields::new(age, amount)))
            }
            Value::Address(address) => serializer.serialize_str(&hex(*address)),
            Value::Stack(node) | Value::Frames(node) => stack(loaded, *node).serialize(serializer),
            Value::Function(label) => serializer.serialize_str(&loaded.names.label(*label).name),
            Value::Thread(id) => thread(loaded, *id).serialize(serializer),
            Value::Process(process) => pid(*process).serialize(serializer),
            Value::List(values) => serializer.collect_seq(values.iter().map(|value| Field { loaded, value })),
            value @ (Value::Age(_) | Value::Sizes(_) | Value::Record(_)) => {
                let mut map = serializer.serialize_map(None)?;
                field(&mut map, loaded, "", value)?;
                map.end()
            }
            Value::Phrase(_) => Err(S::Error::custom("a phrase is for people")),
        }
    }
}
