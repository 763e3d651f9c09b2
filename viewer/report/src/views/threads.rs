//! `threads`: which threads allocate, which free, and what passes between them.

use super::{View, of_blocks};
use crate::table::{Below, Column, Document, Most, Readers, Row, Table, Title, Value, phrase};
use analysis::Metric;
use analysis::lifetimes::{CrossRow, PairRow, ThreadRow, ThreadTable, Threads};
use std::cmp::Reverse;

pub(super) const VIEW: View = View {
    id: "threads",
    by: "thread",
    about: "Show what each thread allocates, and which thread frees it",
    source: of_blocks!(Threads::new, |_, found: Threads| threads(&found.finish())),
};

/// Totals, the matrix without its diagonal, and the stacks behind it.
pub fn threads(table: &ThreadTable) -> Document {
    let notes = match table.crossing[..] {
        [] => vec!["every free was by the thread that allocated the block".into()],
        _ => Vec::new(),
    };
    let tables =
        [by_thread(&table.threads), between(&table.pairs), pairs(&table.pairs), by_stack(&table.crossing)];
    Document { notes, ..Document::new("threads", Title::Amount(Metric::Bytes), tables) }
}

fn by_thread(rows: &[ThreadRow]) -> Table {
    let columns = [
        Column::field("allocated"),
        Column::shown("allocations"),
        Column::shown("bytes"),
        Column::field("temporary"),
        // Where there is little room, the name matters more than a number that other views show as well.
        Column::shown("temporary").minor(),
        Column::field("freed"),
        Column::shown("frees"),
        Column::field("freed_of_others"),
        Column::shown("of others"),
        Column::field("left"),
        Column::shown("not freed"),
    ];
    let row = |row: &ThreadRow| {
        let cells = [
            row.allocated.into(),
            Value::count(row.allocated.blocks),
            Value::bytes(row.allocated.bytes),
            row.temporary.into(),
            Value::count(row.temporary.blocks),
            row.freed.into(),
            Value::count(row.freed.blocks),
            row.foreign.into(),
            Value::count(row.foreign.blocks),
            row.left.into(),
            Value::bytes(row.left.bytes),
        ];
        Row::new(cells, Value::Thread(row.thread))
    };
    let table = Table::new("threads", columns.map(|column| column.width(11)), "thread").named("thread");
    Table { noun: "more thread", ..table }.rows(rows.iter().map(row))
}

/// What passes between threads, most bytes first.
fn between(pairs: &[PairRow]) -> Table {
    let columns = [Column::shown("blocks").width(11), Column::shown("bytes").width(11)];
    let passed = pairs.iter().filter_map(|pair| Some((pair, pair.to.filter(|to| *to != pair.from)?)));
    let mut passed: Vec<_> = passed.collect();
    passed.sort_by_key(|(pair, _)| Reverse((pair.amount.bytes, pair.amount.blocks)));
    let rows = passed.into_iter().map(|(pair, to)| {
        let cells = [Value::count(pair.amount.blocks), Value::bytes(pair.amount.bytes)];
        Row::new(cells, phrase![Value::Thread(pair.from), " → ", Value::Thread(to)])
    });
    let table = Table::new("between", columns, "threads").titled("Allocated by one thread, freed by another");
    Table { noun: "more pair", ..table }.only(Readers::People).rows(rows)
}

/// Everything that one thread allocated and the same, another or none freed.
fn pairs(pairs: &[PairRow]) -> Table {
    let columns = [Column::field("from"), Column::field("to"), Column::field("")];
    let row = |pair: &PairRow| {
        let to = pair.to.map_or(Value::Unknown, Value::Thread);
        Row::new([Value::Thread(pair.from), to, pair.amount.into()], Value::Empty)
    };
    Table::new("pairs", columns, "").only(Readers::Programs).rows(pairs.iter().map(row))
}

fn by_stack(rows: &[CrossRow]) -> Table {
    let columns = [
        Column::field("from"),
        Column::field("to"),
        Column::new("blocks", "blocks").width(11),
        Column::new("bytes", "bytes").width(11),
        Column::field("allocated_by"),
        Column::field("freed_by"),
    ];
    let row = |row: &CrossRow| {
        let (from, to) = (Value::Thread(row.from), Value::Thread(row.to));
        let freed_by = Value::Stack(row.freed_by).recorded();
        let by = match freed_by {
            Value::Unknown => Value::Empty,
            _ => phrase![": ", freed_by.clone()],
        };
        let cells = [
            from.clone(),
            to.clone(),
            Value::count(row.amount.blocks),
            Value::bytes(row.amount.bytes),
            Value::Stack(row.allocated_by),
            freed_by,
        ];
        let passed = Row::new([], phrase![from, " → ", to, by]);
        Row::new(cells, Value::Stack(row.allocated_by)).below([passed])
    };
    let below = Below { most: Most::All, ..Below::default() };
    let table = Table::new("crossing", columns, "allocated and freed by").titled("By stack");
    Table { below, ..table }.rows(rows.iter().map(row))
}
