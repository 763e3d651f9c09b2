//! `mapped`: memory that was mapped apart from the allocators.

use super::{View, of_blocks};
use crate::table::{Column, Document, Row, Table, Title, Value, columns, phrase};
use analysis::lifetimes::{Mapped, MappedRow};
use engine::Loaded;

pub(super) const VIEW: View = View {
    id: "mapped",
    by: "mapping",
    about: "Show who mapped memory outside the heap",
    source: of_blocks!(|_| Mapped::default(), |loaded, found: Mapped| mapped(loaded, &found.finish())),
};

/// The stacks that map pages themselves, those that had most at once first.
pub fn mapped(loaded: &Loaded, rows: &[MappedRow]) -> Document {
    let sum = |of: fn(&MappedRow) -> i64| rows.iter().map(of).fold(0, i64::saturating_add);
    let title = phrase![
        Value::bytes(sum(|row| row.mapped)),
        " mapped outside the heap, ",
        Value::bytes(sum(|row| row.held)),
        " of that until the end"
    ];
    let (columns, cells) = columns![|row: &MappedRow|
        Column::field("pid") => Value::Process(row.process),
        Column::new("peak_bytes", "peak") => Value::bytes(row.peak),
        Column::new("held_bytes", "held") => Value::bytes(row.held),
        Column::new("mapped_bytes", "mapped") => Value::bytes(row.mapped),
        Column::new("calls", "calls") => Value::count(row.calls),
    ];
    let row = |row: &MappedRow| Row::new(cells(row), Value::Stack(row.node));
    let table = Table::new("rows", columns.map(|column| column.width(10)), "stack").named("stack");
    let sampled =
        loaded.profile.sampling.map(|_| "all mappings are recorded: these numbers are exact".into());
    let notes = [
        "peak: the most that a stack had mapped at once; held: what it never unmapped".into(),
        "this is address space, by mmap and brk, without what allocators, the loader and libc map for themselves; \
         `pages --by allocation` shows which of it is in memory"
            .into(),
    ];
    let notes = notes.into_iter().chain(sampled).collect();
    Document { notes, ..Document::new("mapped", Title::Words(title), [table.rows(rows.iter().map(row))]) }
}
