//! `lifetimes --json`: how long blocks live.

use super::start::{AgeFields, AmountFields, Start, stack};
use crate::json::stack::Stack;
use crate::json::write_document;
use analysis::lifetimes::LifeTable;
use engine::Loaded;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct LifetimesDocument<'a> {
    #[serde(flatten)]
    start: Start<'a>,
    rows: Vec<LifeFields<'a>>,
    map: Vec<CellFields>,
}

#[derive(Serialize)]
struct LifeFields<'a> {
    stack: Stack<'a>,
    #[serde(flatten)]
    amount: AmountFields,
    lifetimes: Vec<AgeFields>,
}

#[derive(Serialize)]
struct CellFields {
    first: u64,
    last: u64,
    #[serde(flatten)]
    age: AgeFields,
}

/// Writes `lifetimes --json`.
///
/// # Errors
/// Those of the writer.
pub fn lifetimes(out: &mut dyn Write, loaded: &Loaded, table: &LifeTable) -> io::Result<()> {
    let rows = table.stacks.iter().map(|row| LifeFields {
        stack: stack(loaded, row.node),
        amount: row.total.into(),
        lifetimes: row.ages.iter().map(|&(age, amount)| AgeFields::new(age, amount)).collect(),
    });
    let map = table.map.iter().map(|cell| CellFields {
        first: cell.size.first(),
        last: cell.size.last(),
        age: AgeFields::new(cell.age, cell.amount),
    });
    let document = LifetimesDocument {
        start: Start::new(loaded, "lifetimes"),
        rows: rows.collect(),
        map: map.collect(),
    };
    write_document(out, &document)
}
