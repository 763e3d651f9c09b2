//! Files of Parquet, read back by a reader that shares nothing with the writer, have the rows of the tables.

use crate::support::Made;
use crate::support::fixtures::{rich, small};
use std::collections::HashMap;
use std::path::Path;

/// A value of Thrift's compact protocol.
#[derive(Clone, Debug)]
enum Value {
    Int(i64),
    Text(Vec<u8>),
    List(Vec<Value>),
    Struct(HashMap<u8, Value>),
}

impl Value {
    fn int(&self) -> i64 {
        let Value::Int(value) = self else { panic!("{self:?} is no number") };
        *value
    }

    fn text(&self) -> String {
        let Value::Text(value) = self else { panic!("{self:?} is no text") };
        String::from_utf8(value.clone()).unwrap()
    }

    fn list(&self) -> &[Value] {
        let Value::List(value) = self else { panic!("{self:?} is no list") };
        value
    }

    fn field(&self, number: u8) -> &Value {
        let Value::Struct(value) = self else { panic!("{self:?} is no struct") };
        &value[&number]
    }
}

fn number(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = byte(bytes);
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return value;
        }
    }
}

fn byte(bytes: &mut &[u8]) -> u8 {
    let (first, rest) = bytes.split_first().expect("the file goes on");
    *bytes = rest;
    *first
}

fn take<'a>(bytes: &mut &'a [u8], length: u64) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(usize::try_from(length).unwrap());
    *bytes = rest;
    taken
}

fn value(kind: u8, bytes: &mut &[u8]) -> Value {
    match kind {
        5 | 6 => {
            let zigzag = number(bytes);
            Value::Int((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
        }
        8 => {
            let length = number(bytes);
            Value::Text(take(bytes, length).to_vec())
        }
        9 => {
            let head = byte(bytes);
            let length = if head >> 4 == 15 { number(bytes) } else { u64::from(head >> 4) };
            Value::List((0..length).map(|_| value(head & 15, bytes)).collect())
        }
        12 => {
            let (mut fields, mut last) = (HashMap::new(), 0);
            loop {
                let head = byte(bytes);
                if head == 0 {
                    return Value::Struct(fields);
                }
                last += head >> 4;
                fields.insert(last, value(head & 15, bytes));
            }
        }
        other => panic!("a value of type {other}"),
    }
}

/// Names of columns, and rows.
type Table = (Vec<String>, Vec<Vec<Option<String>>>);

/// A table: names of columns, and rows of texts, with nothing where there is no value.
fn read(path: &Path) -> Table {
    let file = std::fs::read(path).unwrap();
    let (head, tail) = (&file[..4], &file[file.len() - 8..]);
    assert_eq!((head, &tail[4..]), (&b"PAR1"[..], &b"PAR1"[..]));
    let length = u32::from_le_bytes(tail[..4].try_into().unwrap()) as usize;
    let end = value(12, &mut &file[file.len() - 8 - length..]);
    let schema = end.field(2).list();
    assert_eq!(schema[0].field(5).int() as usize, schema.len() - 1);
    let names: Vec<String> = schema[1..].iter().map(|column| column.field(4).text()).collect();
    let mut rows = Vec::new();
    for group in end.field(4).list() {
        let count = group.field(3).int() as usize;
        let first = rows.len();
        rows.resize(first + count, Vec::new());
        // A group's sizes, before they were compressed and in the file, are those of its columns.
        for (of_group, of_columns) in [(2, 6), (6, 7)] {
            let columns = group.field(1).list().iter().map(|chunk| chunk.field(3).field(of_columns).int());
            assert_eq!(group.field(of_group).int(), columns.sum::<i64>());
        }
        for (chunk, name) in group.field(1).list().iter().zip(&names) {
            let data = chunk.field(3);
            assert_eq!(data.field(3).list()[0].text(), *name);
            let mut page = &file[data.field(9).int() as usize..];
            let head = value(12, &mut page);
            assert_eq!(head.field(5).field(1).int() as usize, count);
            let unpacked =
                zstd::bulk::decompress(&page[..head.field(3).int() as usize], head.field(2).int() as usize);
            for (row, value) in rows[first..].iter_mut().zip(column(&unpacked.unwrap(), data.field(1).int()))
            {
                row.push(value);
            }
        }
    }
    assert_eq!(end.field(3).int() as usize, rows.len());
    (names, rows)
}

fn column(page: &[u8], kind: i64) -> Vec<Option<String>> {
    let mut values = page;
    let length = u32::from_le_bytes(take(&mut values, 4).try_into().unwrap());
    let mut levels = take(&mut values, length.into());
    let mut column = Vec::new();
    while !levels.is_empty() {
        let (rows, is_there) = (number(&mut levels) >> 1, byte(&mut levels) == 1);
        for _ in 0..rows {
            column.push(is_there.then(|| match kind {
                2 => i64::from_le_bytes(take(&mut values, 8).try_into().unwrap()).to_string(),
                _ => {
                    let length = u32::from_le_bytes(take(&mut values, 4).try_into().unwrap());
                    String::from_utf8(take(&mut values, length.into()).to_vec()).unwrap()
                }
            }));
        }
    }
    assert!(values.is_empty(), "all values belong to rows");
    column
}

/// The tables of a capture, by name.
fn tables(made: Made) -> HashMap<String, Table> {
    let folder = tempfile::tempdir().unwrap();
    let events = made.events.clone();
    export::sql::write_parquet(folder.path(), &made.loaded("app.memprof"), &events).unwrap();
    let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), read(&path))).collect()
}

fn sum((names, rows): &Table, name: &str) -> i64 {
    let place = names.iter().position(|column| column == name).unwrap();
    rows.iter().filter_map(|row| row[place].as_ref()).map(|value| value.parse::<i64>().unwrap()).sum()
}

/// Check that there is a file for each documented table, and that the sums are those of the profile.
#[test]
fn sums_are_those_of_the_profile() {
    for made in [Made::new as fn() -> Made, small, rich] {
        let (total, tables) = (made().profile().total, tables(made()));
        assert_eq!(tables.len(), 11, "{:?}", tables.keys());
        assert_eq!(sum(&tables["blocks"], "size"), total.allocated.bytes);
        assert_eq!(tables["blocks"].1.len() as i64, total.allocated.blocks);
        assert_eq!(sum(&tables["costs"], "leaked_bytes"), total.leaked.bytes);
        let died = tables["blocks"].0.iter().position(|column| column == "died_ns").unwrap();
        let left = tables["blocks"].1.iter().filter(|row| row[died].is_none()).count();
        assert_eq!(left as i64, total.live().blocks);
    }
}

/// Check that more rows than are written together come back in their order, and with them a name with everything that a name
/// can have.
#[test]
fn many_rows_and_strange_names_come_back() {
    let name = format!("two\nlines \"größe\"\u{0} {}", "x".repeat(20_000));
    let mut made = Made::new();
    let (_, thread) = made.process("app");
    let stack = made.stack(&format!("main > {name}"));
    for size in 0..150_000 {
        made.alloc(thread, 0x1000, size, stack);
        made.free(thread, 0x1000);
    }
    let tables = tables(made);
    let (names, blocks) = &tables["blocks"];
    let size = names.iter().position(|column| column == "size").unwrap();
    assert!(blocks.iter().enumerate().all(|(place, row)| row[size] == Some(place.to_string())));
    assert_eq!(blocks.len(), 150_000);
    assert!(tables["functions"].1.iter().any(|row| row[1].as_deref() == Some(&name)));
}
