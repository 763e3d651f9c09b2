//! `frees --json`: who frees whose blocks.

use super::start::{AgeFields, AmountFields, Start, recorded_stack};
use crate::json::stack::Stack;
use crate::json::write_document;
use crate::lives::{FreesRow, Order, Parcel, Party, Side};
use crate::loaded::Loaded;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct FreesDocument<'a> {
    #[serde(flatten)]
    start: Start<'a>,
    side: &'static str,
    by: &'static str,
    rows: Vec<RowFields<'a>>,
}

#[derive(Serialize)]
struct RowFields<'a> {
    #[serde(flatten)]
    party: PartyFields<'a>,
    with: Vec<PartyFields<'a>>,
}

#[derive(Serialize)]
struct PartyFields<'a> {
    party: &'static str,
    stack: Option<Stack<'a>>,
    #[serde(flatten)]
    amount: AmountFields,
    by_others: AmountFields,
    lifetimes: Vec<AgeFields>,
}

/// Writes `frees --json` of the rows of a side in an order.
///
/// # Errors
/// Those of the writer.
pub fn frees(
    out: &mut dyn Write,
    loaded: &Loaded,
    rows: &[FreesRow],
    side: Side,
    order: Order,
) -> io::Result<()> {
    let rows = rows.iter().map(|row| RowFields {
        party: fields(loaded, row.party, &row.sum),
        with: row.with.iter().map(|(other, parcel)| fields(loaded, *other, parcel)).collect(),
    });
    let (start, side, by) = (Start::new(loaded, "frees"), side.name(), order.name());
    write_document(out, &FreesDocument { start, side, by, rows: rows.collect() })
}

fn fields<'a>(loaded: &'a Loaded, party: Party, parcel: &Parcel) -> PartyFields<'a> {
    PartyFields {
        party: party.name(),
        stack: party.stack().and_then(|stack| recorded_stack(loaded, stack)),
        amount: parcel.blocks.into(),
        by_others: parcel.by_others.into(),
        lifetimes: parcel.ages.iter().map(|&(age, amount)| AgeFields::new(age, amount)).collect(),
    }
}
