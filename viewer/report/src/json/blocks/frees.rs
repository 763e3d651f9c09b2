//! `frees --json`: which stacks free the blocks of which others.

use super::start::{AgeFields, AmountFields, Start, recorded_stack};
use crate::json::stack::Stack;
use crate::json::write_document;
use analysis::LabelId;
use analysis::lifetimes::{BlockStats, Endpoint, FreesRow, Order, Side};
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
    endpoint: EndpointFields<S>,
    with: Vec<EndpointFields<S>>,
}

#[derive(Serialize)]
struct EndpointFields<S> {
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
    let fields = |endpoint: Endpoint<S>, stats: &BlockStats| EndpointFields {
        party: endpoint.name(),
        who: who(endpoint.stack()),
        amount: stats.blocks.into(),
        by_others: stats.by_others.into(),
        lifetimes: stats.ages.iter().map(|&(age, amount)| AgeFields::new(age, amount)).collect(),
    };
    let rows = rows.iter().map(|row| RowFields {
        endpoint: fields(row.endpoint, &row.sum),
        with: row.with.iter().map(|(other, stats)| fields(*other, stats)).collect(),
    });
    let (start, side, by) = (Start::new(loaded, "frees"), side.name(), order.name());
    write_document(out, &FreesDocument { start, side, by, rows: rows.collect() })
}
