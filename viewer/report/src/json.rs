//! Views for programs. Every document begins with `"schema": 1`; `JSON.md` describes each field.
//!
//! Within one schema, fields are added and never change their meaning. Numbers are exact, times are nanoseconds
//! since the start of the recording, unknown names are null with a `reason`.

mod allocator;
mod blocks;
mod check;
mod cost;
mod cpu;
mod diff;
mod dump;
mod head;
mod info;
mod leaks;
mod nameless;
mod report;
mod reported;
mod resident;
mod scan;
mod span;
mod stack;
mod tables;
mod timeline;
mod top;
mod tree;
mod unseen;

pub use allocator::allocator;
pub use blocks::ScannedFields;
pub use blocks::{
    failed, frees, frees_of_functions, history, invalid_frees, lifetimes, lines, pages, reallocs, retained,
    sizes, temporary, threads,
};
pub use check::check;
pub use diff::diff;
pub use dump::Dump;
pub use info::info;
pub use leaks::leaks;
pub use report::report;
pub use resident::resident;
pub use tables::tables;
pub use timeline::timeline;
pub use top::top;

use serde::Serialize;
use std::io::{self, Write};

/// Version of the documents.
pub const SCHEMA: u32 = 1;

fn write_document(out: &mut dyn Write, document: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    writeln!(out)
}
