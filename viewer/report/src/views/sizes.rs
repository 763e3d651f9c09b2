//! `sizes`: which sizes are requested, and by whom.

use super::{View, of_blocks};
use crate::table::{Below, Column, Document, Row, Table, Title, Value, phrase};
use analysis::lifetimes::{SizeRow, SizeTable, Sizes};
use analysis::{Amount, Metric};
use engine::Loaded;

pub(super) const VIEW: View = View {
    id: "sizes",
    by: "size",
    about: "Show requested sizes, by whom, and what the allocator adds",
    source: of_blocks!(Sizes::new, |loaded, found: Sizes| sizes(loaded, &found.finish())),
};

/// A row for each class, with the stacks that request it.
pub fn sizes(loaded: &Loaded, table: &SizeTable) -> Document {
    let total = loaded.profile.total.allocated.blocks;
    let columns = [
        Column::new("blocks", "allocations").width(12),
        Column::shown("share").width(7),
        Column::new("bytes", "bytes").width(11),
        Column::new("glibc_slack_bytes", "slack").width(11),
    ];
    let cells =
        |Amount { blocks, bytes }, share, slack| [Value::count(blocks), share, Value::bytes(bytes), slack];
    let row = |row: &SizeRow| {
        let share = Value::Share(row.allocated.blocks, total);
        let stacks = row
            .stacks
            .iter()
            .map(|&(node, amount)| Row::new(cells(amount, Value::Empty, Value::Empty), Value::Stack(node)));
        Row::new(cells(row.allocated, share, Value::bytes(row.slack)), Value::Sizes(row.class)).below(stacks)
    };
    let slack = table.classes.iter().fold(0_i64, |sum, row| sum.wrapping_add(row.slack));
    let note = phrase![
        "slack: glibc's malloc would round these up by ",
        Value::bytes(slack),
        " in total (a model; other allocators differ)"
    ];
    let below = Below { id: Some("stacks"), key: Some("stack"), noun: "more stack", ..Below::default() };
    let classes = Table { below, ..Table::new("classes", columns, "size").named("") };
    let classes = classes.rows(table.classes.iter().map(row));
    Document { notes: vec![note], ..Document::new("sizes", Title::Amount(Metric::Allocations), [classes]) }
}
