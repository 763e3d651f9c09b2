//! `frees --json`: which stacks free the blocks of which others.

use super::start::{AgeFields, AmountFields, Start, recorded_stack};
use crate::json::stack::Stack;
use crate::json::write_document;
use analysis::LabelId;
use analysis::lifetimes::{FreesRow, Order, Parcel, Party, Side};
use capture::NodeId;
use engine::Loaded;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct FreesDocument<'a, S> {
    #[serde(flatten)]
    start: Start<'a>,
    side: &'static str,
    by: &'static str,
    rows: Vec<RowFields<S>>,
}

#[derive(Serialize)]
struct RowFields<S> {
    #[serde(flatten)]
    party: PartyFields<S>,
    with: Vec<PartyFields<S>>,
}

#[derive(Serialize)]
struct PartyFields<S> {
    party: &'static str,
    #[serde(flatten)]
    who: S,
    #[serde(flatten)]
    amount: AmountFields,
    by_others: AmountFields,
    lifetimes: Vec<AgeFields>,
}

#[derive(Serialize)]
struct StackFields<'a> {
    stack: Option<Stack<'a>>,
}

#[derive(Serialize)]
struct FunctionFields<'a> {
    function: Option<&'a str>,
}

/// Writes `frees --json` with the rows of one side, in this order.
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
    let who =
        |node: Option<NodeId>| StackFields { stack: node.and_then(|node| recorded_stack(loaded, node)) };
    document(out, loaded, rows, (side, order), who)
}

/// The same for functions.
///
/// # Errors
/// Those of the writer.
pub fn frees_of_functions(
    out: &mut dyn Write,
    loaded: &Loaded,
    rows: &[FreesRow<LabelId>],
    side: Side,
    order: Order,
) -> io::Result<()> {
    let who = |label: Option<LabelId>| {
        let label = label.filter(|&label| label != LabelId::EVERYTHING);
        FunctionFields { function: label.map(|label| loaded.names.label(label).name.as_str()) }
    };
    document(out, loaded, rows, (side, order), who)
}

fn document<S: Copy, W: Serialize>(
    out: &mut dyn Write,
    loaded: &Loaded,
    rows: &[FreesRow<S>],
    (side, order): (Side, Order),
    who: impl Fn(Option<S>) -> W,
) -> io::Result<()> {
    let fields = |party: Party<S>, parcel: &Parcel| PartyFields {
        party: party.name(),
        who: who(party.stack()),
        amount: parcel.blocks.into(),
        by_others: parcel.by_others.into(),
        lifetimes: parcel.ages.iter().map(|&(age, amount)| AgeFields::new(age, amount)).collect(),
    };
    let rows = rows.iter().map(|row| RowFields {
        party: fields(row.party, &row.sum),
        with: row.with.iter().map(|(other, parcel)| fields(*other, parcel)).collect(),
    });
    let (start, side, by) = (Start::new(loaded, "frees"), side.name(), order.name());
    write_document(out, &FreesDocument { start, side, by, rows: rows.collect() })
}
