//! The tables as Apache Parquet files, for `DuckDB`, pandas, `DataFusion` and Spark: a directory with one file per
//! table.
//!
//! ```text
//!  "PAR1" │ rows: a page for each column │ rows … │ end: schema, and each page's place │ its length u32 │ "PAR1"
//! ```
//!
//! The tables are created in `SQLite`, as for a database, and read from there, some ten thousand rows at a time. This
//! needs only four kinds of structs and one encoding of the format, which are implemented here; the existing crates
//! bring fifty others.

mod column;
mod thrift;

use super::Error;
use super::database::fill;
use column::{Column, Kind};
use engine::{Events, Loaded};
use rusqlite::{Connection, Statement};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use thrift::Struct;

const MAGIC: &[u8; 4] = b"PAR1";
/// Rows that are written together.
const ROWS: u64 = 1 << 16;
/// Bytes of a column after which rows are written, however few there are.
const BYTES: usize = 64 << 20;
/// Version of the format.
const VERSION: i32 = 1;

/// Writes each table to a file in a directory, which exists and is empty.
///
/// # Errors
/// When a file cannot be written, or the events cannot be read.
pub fn write_parquet(folder: &Path, loaded: &Loaded, events: &dyn Events) -> Result<(), Error> {
    // An unnamed database is temporary.
    let mut connection = Connection::open("")?;
    fill(&mut connection, loaded, Some(events))?;
    let mut names =
        connection.prepare("select name from sqlite_schema where type = 'table' order by rowid")?;
    let names: Vec<String> = names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for name in names {
        let path = folder.join(format!("{name}.parquet"));
        // A capture reveals what a program does, and so does anything made from it.
        let file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
        let mut out = BufWriter::new(file);
        table(&mut out, &mut connection.prepare(&format!("select * from {name}"))?)?;
        out.flush()?;
    }
    Ok(())
}

/// Writes the result of a statement as one file.
fn table(out: &mut dyn Write, statement: &mut Statement<'_>) -> Result<(), Error> {
    let of_kind = |kind: Option<&str>| match kind {
        Some(kind) if kind.eq_ignore_ascii_case("integer") => Kind::Int,
        _ => Kind::Text,
    };
    let columns = statement.columns();
    let mut columns: Vec<Column> =
        columns.map(|column| Column::new(column.name(), of_kind(column.decl_type()))).collect();
    let mut schema = vec![Struct::default().text(4, "schema").i32(5, columns.len() as i32)];
    schema.extend(columns.iter().map(Column::schema));
    out.write_all(MAGIC)?;
    let (mut at, mut all, mut here, mut groups) = (MAGIC.len() as u64, 0, 0, Vec::new());
    let mut rows = statement.query([])?;
    loop {
        let row = rows.next()?;
        if let Some(row) = row {
            for (place, column) in columns.iter_mut().enumerate() {
                column.push(row.get_ref(place)?);
            }
            here += 1;
        }
        let is_over = row.is_none();
        if here == ROWS || (is_over && here > 0) || columns.iter().any(|column| column.length() > BYTES) {
            groups.push(group(out, &mut columns, &mut at, here)?);
            all += here;
            here = 0;
        }
        if is_over {
            break;
        }
    }
    let end = Struct::default()
        .i32(1, VERSION)
        .parts(2, schema)
        .i64(3, all.cast_signed())
        .parts(4, groups)
        .text(6, crate::origin::CREATOR)
        .finish();
    out.write_all(&end)?;
    out.write_all(&(end.len() as u32).to_le_bytes())?;
    out.write_all(MAGIC)?;
    Ok(())
}

/// Writes the buffered rows of the columns.
fn group(out: &mut dyn Write, columns: &mut [Column], at: &mut u64, rows: u64) -> Result<Struct, Error> {
    let (from, mut unpacked, mut chunks) = (*at, 0_u64, Vec::new());
    for column in columns {
        let page = column.write(out, *at)?;
        *at += page.length;
        unpacked += page.unpacked;
        chunks.push(page.end);
    }
    let group = Struct::default().parts(1, chunks).i64(2, unpacked.cast_signed()).i64(3, rows.cast_signed());
    Ok(group.i64(6, (*at - from).cast_signed()))
}
