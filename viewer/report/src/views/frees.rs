//! `frees`: which stacks free the blocks of which others.

use crate::table::{Below, Column, Document, Most, Row, Table, Title, Value, columns, phrase};
use analysis::lifetimes::{BlockStats, Endpoint, FreesRow, Order, Side};
use analysis::{LabelId, Metric};
use capture::NodeId;

/// What a row is about: a stack or a function.
pub trait Freer: Copy {
    /// Its field, and how several are called.
    const WORDS: [&'static str; 2];

    /// Itself.
    fn value(self) -> Value;
}

impl Freer for NodeId {
    const WORDS: [&'static str; 2] = ["stack", "more stack"];

    fn value(self) -> Value {
        Value::Stack(self)
    }
}

impl Freer for LabelId {
    const WORDS: [&'static str; 2] = ["function", "more function"];

    fn value(self) -> Value {
        Value::Function(self)
    }
}

/// The rows of one side, each with those that free its blocks, or whose blocks it frees.
pub fn frees<S: Freer>(rows: &[FreesRow<S>], side: Side, order: Order) -> Document {
    let heading = if side == Side::Allocations { "allocated by" } else { "freed by" };
    let (columns, cells) = columns::<S>();
    let row = |row: &FreesRow<S>| {
        let name = row.endpoint.stack().map_or_else(|| said(row.endpoint), S::value);
        let others = row.with.iter().map(|(other, stats)| Row::new(cells((*other, stats)), said(*other)));
        Row::new(cells((row.endpoint, &row.sum)), name).below(others)
    };
    let [_, noun] = S::WORDS;
    let below = Below { id: Some("with"), key: None, noun, most: Most::Rows(5) };
    let table = Table { noun, below, ..Table::new("rows", columns, heading).rows(rows.iter().map(row)) };
    Document {
        notes: notes(rows, side),
        fields: vec![("side", side.name().into()), ("by", order.name().into())],
        ..Document::new("frees", Title::Amount(Metric::Bytes), [table])
    }
}

/// What became of blocks, or who allocated them.
pub fn endpoints(rows: &[(Endpoint, BlockStats)], heading: &'static str) -> Table {
    let (columns, cells) = columns();
    let rows = rows.iter().map(|(other, stats)| Row::new(cells((*other, stats)), said(*other)));
    Table::new("rows", columns, heading).rows(rows)
}

/// A side of frees, and what it did with blocks.
type Party<'a, S> = (Endpoint<S>, &'a BlockStats);

/// Columns, and what is in them for what one side did with blocks.
fn columns<S: Freer>() -> ([Column; 8], impl Fn(Party<'_, S>) -> [Value; 8]) {
    let [field, _] = S::WORDS;
    columns![|(endpoint, stats): Party<'_, S>|
        Column::field("party") => endpoint.name(),
        Column::field(field) => endpoint.stack().map_or(Value::Unknown, |stack| stack.value().recorded()),
        Column::new("bytes", "bytes") => Value::bytes(stats.blocks.bytes),
        Column::new("blocks", "blocks") => Value::count(stats.blocks.blocks),
        Column::field("by_others") => stats.by_others,
        Column::shown("by others") => match stats.by_others.blocks {
            0 => Value::Empty,
            blocks => Value::Share(blocks, stats.ended().blocks),
        },
        Column::field("lifetimes") => Value::Ages(stats.ages.clone()),
        Column::shown("lifetime") => stats.median().map_or(Value::Empty, Value::Age),
    ]
}

/// What an endpoint did.
fn said<S: Freer>(endpoint: Endpoint<S>) -> Value {
    match endpoint {
        Endpoint::Allocated(stack) => phrase!["allocated by ", stack.value()],
        Endpoint::Freed(stack) => phrase!["freed by ", stack.value()],
        Endpoint::Resized(stack) => phrase!["resized by ", stack.value()],
        Endpoint::ToNothing => "freed by realloc to size 0".into(),
        Endpoint::Unseen => "freed without a record".into(),
        Endpoint::Left => "never freed".into(),
    }
}

/// What became of all blocks, and what the columns mean.
fn notes<S: Copy>(rows: &[FreesRow<S>], side: Side) -> Vec<Value> {
    let sum = |is_meant: fn(Endpoint<S>) -> bool| {
        let mut sum = BlockStats::default();
        for row in rows {
            let end = |other| if side == Side::Frees { row.endpoint } else { other };
            let meant = row.with.iter().filter(|(other, _)| is_meant(end(*other)));
            meant.for_each(|(_, stats)| sum.add(stats));
        }
        sum
    };
    let freed = sum(|end| matches!(end, Endpoint::Freed(_) | Endpoint::ToNothing));
    let by_others = match freed.by_others.blocks {
        0 => Value::Empty,
        blocks => {
            let share = Value::Share(blocks, freed.ended().blocks);
            phrase![", ", share, " by others (not the thread that allocated)"]
        }
    };
    let other = [
        ("resized by realloc, which counts as a new block: ", sum(|end| matches!(end, Endpoint::Resized(_)))),
        ("freed without a record: ", sum(|end| matches!(end, Endpoint::Unseen))),
        ("never freed: ", sum(|end| matches!(end, Endpoint::Left))),
    ];
    let other = other.into_iter().filter(|(_, stats)| !stats.blocks.is_zero());
    std::iter::once(phrase!["freed: ", freed.blocks, by_others])
        .chain(other.map(|(what, stats)| phrase![what, stats.blocks]))
        .chain(["lifetime: median of the freed blocks".into()])
        .collect()
}
