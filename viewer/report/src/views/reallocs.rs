//! `reallocs`: blocks that are resized again and again, by `realloc` or by replacing them with larger ones.

use super::{View, of_blocks};
use crate::table::{Column, Document, Row, Table, Title, Value, phrase};
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
    let columns = [
        Column::new("chains", "chains"),
        Column::new("resizes", "resizes"),
        Column::new("longest", "longest"),
        Column::new("moves", "moved"),
        Column::new("copied_bytes", "copied"),
        Column::field("replaced"),
        Column::field("first_bytes"),
        Column::shown("first"),
        Column::field("last_bytes"),
        Column::shown("last"),
        Column::field("doublings"),
    ];
    let table = Table::new("rows", columns.map(|column| column.width(9)), "stack").named("stack");
    Document {
        notes: sampled.then(|| note.into()).into_iter().collect(),
        ..Document::new("reallocs", Title::Words(title), [table.rows(rows.iter().map(row))])
    }
}

fn row(row: &ReallocRow) -> Row {
    let chains = row.chains.max(1);
    let cells = [
        Value::count(row.chains),
        Value::count(row.steps),
        Value::count(row.longest),
        Value::count(row.moves),
        Value::bytes(row.copied_bytes),
        Value::Flag(row.is_replaced),
        Value::bytes(row.first_bytes),
        Value::bytes(row.first_bytes / chains),
        Value::bytes(row.last_bytes),
        Value::bytes(row.last_bytes / chains),
        row.advice().map_or(Value::Unknown, |advice| Value::count(advice.doublings)),
    ];
    Row::new(cells, Value::Stack(row.node)).below(advice(row).map(|advice| Row::new([], advice)))
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
