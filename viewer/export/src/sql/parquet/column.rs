//! A column of some rows, and its page in a file.
//!
//! ```text
//!  page:  head (thrift) │ zstd: length u32 │ runs of rows with or without a value │ values
//!  run:   twice its length, in groups of seven bits │ 1: rows have values, 0: they have none
//!  value: eight bytes, or a length u32 and that many bytes of UTF-8
//! ```

use super::thrift::{self, Struct};
use rusqlite::types::ValueRef;
use std::io::{self, Write};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Int,
    Text,
}

/// Constants of the format: types, encodings, codecs, pages.
const INT64: i32 = 2;
const BYTE_ARRAY: i32 = 6;
const PLAIN: i32 = 0;
const RLE: i32 = 3;
const ZSTD: i32 = 6;
const DATA_PAGE: i32 = 0;
/// Rows may lack a value.
const OPTIONAL: i32 = 1;
/// Bytes are text.
const UTF8: i32 = 0;
const LEVEL: i32 = 3;

/// A column.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    kind: Kind,
    values: Vec<u8>,
    /// Runs of rows with or without a value.
    runs: Vec<(bool, u64)>,
    rows: u64,
}

/// A column that was written.
pub(super) struct Page {
    /// Bytes in the file.
    pub(super) length: u64,
    /// Bytes before compression.
    pub(super) unpacked: u64,
    /// Its metadata for the end of the file.
    pub(super) end: Struct,
}

impl Column {
    pub(super) fn new(name: &str, kind: Kind) -> Column {
        Column { name: name.to_owned(), kind, values: Vec::new(), runs: Vec::new(), rows: 0 }
    }

    /// Adds the value of a row. A value of another type is written as text, or left out of a column of numbers.
    pub(super) fn push(&mut self, value: ValueRef<'_>) {
        let is_there = match (self.kind, value) {
            (_, ValueRef::Null) | (Kind::Int, ValueRef::Text(_) | ValueRef::Blob(_) | ValueRef::Real(_)) => {
                false
            }
            (Kind::Int, ValueRef::Integer(number)) => {
                self.values.extend(number.to_le_bytes());
                true
            }
            (Kind::Text, value) => {
                let text = super::super::question::shown(value);
                // Names are at most a mebibyte long.
                self.values.extend((text.len() as u32).to_le_bytes());
                self.values.extend_from_slice(text.as_bytes());
                true
            }
        };
        match self.runs.last_mut() {
            Some((there, rows)) if *there == is_there => *rows += 1,
            _ => self.runs.push((is_there, 1)),
        }
        self.rows += 1;
    }

    /// Bytes that it occupies.
    pub(super) fn length(&self) -> usize {
        self.values.len() + 16 * self.runs.len()
    }

    /// Its element of the schema.
    pub(super) fn schema(&self) -> Struct {
        let kind = if self.kind == Kind::Int { INT64 } else { BYTE_ARRAY };
        let line = Struct::default().i32(1, kind).i32(3, OPTIONAL).text(4, &self.name);
        if self.kind == Kind::Text { line.i32(6, UTF8) } else { line }
    }

    /// Writes it as one page at an offset of a file, and clears it.
    pub(super) fn write(&mut self, out: &mut dyn Write, at: u64) -> io::Result<Page> {
        let mut levels = Vec::new();
        for (is_there, rows) in self.runs.drain(..) {
            thrift::put(&mut levels, rows << 1);
            levels.push(u8::from(is_there));
        }
        let mut page = (levels.len() as u32).to_le_bytes().to_vec();
        page.append(&mut levels);
        page.append(&mut self.values);
        let packed = zstd::bulk::compress(&page, LEVEL)?;
        let rows = std::mem::take(&mut self.rows);
        // Rows are written long before a page reaches two gigabytes.
        let values = Struct::default().i32(1, rows as i32).i32(2, PLAIN).i32(3, RLE).i32(4, RLE);
        let head = Struct::default().i32(1, DATA_PAGE).i32(2, page.len() as i32).i32(3, packed.len() as i32);
        let head = head.part(5, values).finish();
        out.write_all(&head)?;
        out.write_all(&packed)?;
        let (unpacked, length) = ((head.len() + page.len()) as u64, (head.len() + packed.len()) as u64);
        let kind = if self.kind == Kind::Int { INT64 } else { BYTE_ARRAY };
        let data = Struct::default()
            .i32(1, kind)
            .i32s(2, &[PLAIN, RLE])
            .texts(3, &[&self.name])
            .i32(4, ZSTD)
            .i64(5, rows.cast_signed())
            .i64(6, unpacked.cast_signed())
            .i64(7, length.cast_signed())
            .i64(9, at.cast_signed());
        Ok(Page { length, unpacked, end: Struct::default().i64(2, at.cast_signed()).part(3, data) })
    }
}
