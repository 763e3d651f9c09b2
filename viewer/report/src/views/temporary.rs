//! `temporary`: short-lived allocations.

use super::{View, of_blocks};
use crate::table::{Column, Document, Row, Table, Title, Value, columns, phrase};
use analysis::lifetimes::{Temporary, TemporaryRow};
use analysis::{Amount, Metric};

/// Lifetime below which an allocation is brief, in nanoseconds.
const BRIEF: u64 = 1_000_000;

pub(super) const VIEW: View = View {
    id: "temporary",
    by: "temporary",
    about: "Show allocations that did not last, by stack",
    source: of_blocks!(|tables| Temporary::new(BRIEF, tables), |_, found: Temporary| temporary(
        &found.finish(),
        BRIEF
    )),
};

/// Stacks by their temporary allocations: freed by the thread that allocated them before its next allocation. Those
/// freed within `limit_ns` are brief, whatever came between.
pub fn temporary(rows: &[TemporaryRow], limit_ns: u64) -> Document {
    let brief = rows.iter().fold(Amount::ZERO, |sum, row| sum + row.brief).blocks;
    let note =
        phrase!["brief: freed within ", Value::Duration(limit_ns), ", ", Value::counted(brief, "allocation")];
    let (columns, cells) = columns![|row: &TemporaryRow|
        Column::field("allocated") => row.allocated,
        Column::shown("allocations").width(12) => Value::count(row.allocated.blocks),
        Column::field("immediate") => row.immediate,
        Column::shown("temporary").width(12) => Value::count(row.immediate.blocks),
        Column::shown("share").width(7) => Value::Share(row.immediate.blocks, row.allocated.blocks),
        Column::field("brief") => row.brief,
        Column::shown("brief").width(12) => Value::count(row.brief.blocks),
    ];
    let row = |row: &TemporaryRow| {
        let is_minor = row.immediate.is_zero() && row.brief.is_zero();
        Row { is_minor, ..Row::new(cells(row), Value::Stack(row.node)) }
    };
    let table = Table::new("rows", columns, "stack").named("stack").rows(rows.iter().map(row));
    Document {
        notes: vec![note],
        fields: vec![("brief_ns", Value::Duration(limit_ns))],
        ..Document::new("temporary", Title::Amount(Metric::Temporary), [table])
    }
}
