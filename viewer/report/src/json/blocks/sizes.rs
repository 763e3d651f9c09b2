//! `sizes --json`: which sizes are requested.

use super::start::{AmountFields, StackAmount, Start};
use crate::json::write_document;
use analysis::lifetimes::SizeTable;
use engine::Loaded;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct SizesDocument<'a> {
    #[serde(flatten)]
    start: Start<'a>,
    classes: Vec<SizeFields<'a>>,
}

#[derive(Serialize)]
struct SizeFields<'a> {
    first: u64,
    last: u64,
    #[serde(flatten)]
    amount: AmountFields,
    glibc_slack_bytes: i64,
    stacks: Vec<StackAmount<'a>>,
}

/// Writes `sizes --json`.
///
/// # Errors
/// Those of the writer.
pub fn sizes(out: &mut dyn Write, loaded: &Loaded, table: &SizeTable) -> io::Result<()> {
    let classes = table.classes.iter().map(|row| SizeFields {
        first: row.class.first(),
        last: row.class.last(),
        amount: row.allocated.into(),
        glibc_slack_bytes: row.slack,
        stacks: row.stacks.iter().map(|&row| StackAmount::new(loaded, row)).collect(),
    });
    write_document(out, &SizesDocument { start: Start::new(loaded, "sizes"), classes: classes.collect() })
}
