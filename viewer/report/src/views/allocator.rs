//! `report --allocator`: CPU time in `malloc` and `free`, by the functions that call them.

use super::nothing::{nothing, unsampled};
use super::numbers::heads;
use crate::table::{Column, Document, Head, Row, Table, Title, Value, columns, phrase};
use analysis::{AllocatorTime, Amount, LabelId, Metric, allocator_time};
use engine::Loaded;

/// The callers, the one whose calls take longest first.
pub fn allocator(loaded: &Loaded) -> Document {
    let Loaded { profile, tables, names, .. } = loaded;
    let rows = allocator_time(profile, tables, names);
    let total = profile.total.cpu;
    let [_, time] = heads(loaded, Metric::Cpu);
    let (columns, cells) = columns![|(label, row): (LabelId, AllocatorTime)|
        Column::field("") => Value::Who(label),
        Column::new("samples", "samples") => Value::count(row.total().blocks),
        Column::shown("share").width(7) => Value::Share(row.total().blocks, total.blocks),
        Column::shown(time) => Value::Cpu(row.total().bytes),
        Column::new("allocate_samples", "in malloc") => Value::count(row.allocate.blocks),
        Column::new("free_samples", "in free") => Value::count(row.free.blocks),
        Column::field("hook_samples") => Value::count(row.hooks.blocks),
        Column::new("allocations", "allocations").width(12) => Value::count(row.allocated.blocks),
        Column::new("bytes", "bytes") => Value::bytes(row.allocated.bytes),
    ];
    let (mut sum, mut in_hooks) = (Amount::ZERO, Amount::ZERO);
    let rows: Vec<Row> = (rows.into_iter())
        .map(|(label, row)| {
            (sum, in_hooks) = (sum + row.total(), in_hooks + row.hooks);
            Row::new(cells((label, row)), Value::Function(label))
        })
        .collect();
    let title = match total.is_zero() {
        true => nothing(loaded, Metric::Cpu),
        false => phrase![
            Value::count(sum.blocks),
            " of ",
            Value::counted(total.blocks, "sample"),
            " in the allocator (",
            Value::Share(sum.blocks, total.blocks),
            "), ",
            Value::Share(in_hooks.blocks, sum.blocks),
            " of these in the agent's hooks"
        ],
    };
    let table = Table { noun: "more caller", ..Table::new("rows", columns, "caller").rows(rows) };
    Document {
        head: Head::File,
        warnings: unsampled(loaded),
        fields: vec![("samples", Value::count(total.blocks))],
        ..Document::new("allocator", Title::Words(title), [table])
    }
}
