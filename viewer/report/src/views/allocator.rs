//! `report --allocator`: CPU time in `malloc` and `free`, by the functions that call them.

use super::nothing::{nothing, unsampled};
use super::numbers::heads;
use crate::table::{Column, Document, Head, Row, Table, Title, Value, phrase};
use analysis::{AllocatorTime, Amount, Metric, allocator_time};
use engine::Loaded;

/// The callers, the one whose calls take longest first.
pub fn allocator(loaded: &Loaded) -> Document {
    let Loaded { profile, tables, names, .. } = loaded;
    let rows = allocator_time(profile, tables, names);
    let total = profile.total.cpu;
    let [_, time] = heads(loaded, Metric::Cpu);
    let columns = [
        Column::field(""),
        Column::new("samples", "samples"),
        Column::shown("share").width(7),
        Column::shown(time),
        Column::new("allocate_samples", "in malloc"),
        Column::new("free_samples", "in free"),
        Column::field("hook_samples"),
        Column::new("allocations", "allocations").width(12),
        Column::new("bytes", "bytes"),
    ];
    let (mut sum, mut in_hooks) = (Amount::ZERO, Amount::ZERO);
    let rows: Vec<Row> = (rows.into_iter())
        .map(|(label, row)| {
            let AllocatorTime { allocate, free, hooks, allocated } = row;
            let of_row = row.total();
            (sum, in_hooks) = (sum + of_row, in_hooks + hooks);
            let cells = [
                Value::Who(label),
                Value::count(of_row.blocks),
                Value::Share(of_row.blocks, total.blocks),
                Value::Cpu(of_row.bytes),
                Value::count(allocate.blocks),
                Value::count(free.blocks),
                Value::count(hooks.blocks),
                Value::count(allocated.blocks),
                Value::bytes(allocated.bytes),
            ];
            Row::new(cells, Value::Function(label))
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
