//! Views for programs. Every document begins with `"schema": 1`; `JSON.md` describes each field.
//!
//! Within one schema, fields are added and never change their meaning. Numbers are exact, times are nanoseconds
//! since the start of the recording, unknown names are null with a `reason`.

mod check;
mod cost;
mod diff;
mod document;
mod events;
mod report;
mod stack;
mod tables;
mod top;
mod tree;

pub use check::check;
pub use diff::diff;
pub use document::{Fields, document};
pub use events::EventLines;
pub use report::report;
pub use tables::tables;
pub use top::top;

use serde::Serialize;
use std::io::{self, Write};

/// Version of the documents.
pub const SCHEMA: u32 = 1;

fn write_document(out: &mut dyn Write, document: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    writeln!(out)
}
