//! `reallocs`: blocks that are resized again and again, by `realloc` or by replacing them with larger ones.

use super::{View, of_blocks};
use crate::table::{Column, Document, Row, Table, Title, Value, columns, phrase};
use analysis::lifetimes::{ReallocRow, Reallocs};
use engine::Loaded;

pub(super) const VIEW: View = View {
    id: "reallocs",
    by: "realloc",
    about: "Show blocks that are resized repeatedly, and what that copies",
    source: of_blocks!(|_| Reallocs::default(), |loaded, found: Reallocs| reallocs(loaded, &found.finish())),
};

/// The stacks that resize, those that copy most first.
pub fn reallocs(loaded: &Loaded, rows: &[ReallocRow]) -> Document {
    let sum = |of: fn(&ReallocRow) -> u64| rows.iter().map(of).fold(0, u64::saturating_add);
    let title = phrase![
        Value::counted(sum(|row| row.steps), "resize"),
        " in ",
        Value::counted(sum(|row| row.chains), "chain"),
        ", up to ",
        Value::bytes(sum(|row| row.copied_bytes)),
        " copied"
    ];
    let sampled = loaded.profile.sampling.is_some();
    let note = "the capture is sampled: a block and its resized successor are separate samples";
    let (columns, cells) = columns![|row: &ReallocRow|
        Column::new("chains", "chains") => Value::count(row.chains),
        Column::new("resizes", "resizes") => Value::count(row.steps),
        Column::new("longest", "longest") => Value::count(row.longest),
        Column::new("moves", "moved") => Value::count(row.moves),
        Column::new("copied_bytes", "copied") => Value::bytes(row.copied_bytes),
        Column::field("replaced") => Value::Flag(row.is_replaced),
        Column::field("first_bytes") => Value::bytes(row.first_bytes),
        Column::shown("first") => Value::bytes(row.first_bytes / row.chains.max(1)),
        Column::field("last_bytes") => Value::bytes(row.last_bytes),
        Column::shown("last") => Value::bytes(row.last_bytes / row.chains.max(1)),
        Column::field("doublings") => Value::known(row.advice().map(|advice| Value::count(advice.doublings))),
    ];
    let row = |row: &ReallocRow| {
        Row::new(cells(row), Value::Stack(row.node)).below(advice(row).map(|advice| Row::new([], advice)))
    };
    let table = Table::new("rows", columns.map(|column| column.width(9)), "stack").named("stack");
    Document {
        notes: sampled.then(|| note.into()).into_iter().collect(),
        ..Document::new("reallocs", Title::Words(title), [table.rows(rows.iter().map(row))])
    }
}

/// What would be better.
fn advice(row: &ReallocRow) -> Option<Value> {
    if row.is_replaced {
        let last = Value::bytes(row.last_bytes / row.chains.max(1));
        return Some(phrase!["grows without realloc, like a C++ vector: reserve ", last, " up front"]);
    }
    let advice = row.advice()?;
    Some(phrase![
        "grows by ",
        Value::Factor(advice.factor),
        " each time: reserve ",
        Value::bytes(advice.last),
        " up front, or double: ",
        Value::counted(advice.doublings, "resize"),
        " instead of ",
        Value::count(advice.steps)
    ])
}
