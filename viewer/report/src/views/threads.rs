//! `threads`: which threads allocate, which free, and what passes between them.

use super::{View, of_blocks};
use crate::table::{Below, Column, Document, Most, Readers, Row, Table, Title, Value, columns, phrase};
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
    let (columns, cells) = columns![|row: &ThreadRow|
        Column::field("allocated") => row.allocated,
        Column::shown("allocations") => Value::count(row.allocated.blocks),
        Column::shown("bytes") => Value::bytes(row.allocated.bytes),
        Column::field("temporary") => row.temporary,
        // Where there is little room, the name matters more than a number that other views show as well.
        Column::shown("temporary").minor() => Value::count(row.temporary.blocks),
        Column::field("freed") => row.freed,
        Column::shown("frees") => Value::count(row.freed.blocks),
        Column::field("freed_of_others") => row.foreign,
        Column::shown("of others") => Value::count(row.foreign.blocks),
        Column::field("left") => row.left,
        Column::shown("not freed") => Value::bytes(row.left.bytes),
    ];
    let row = |row: &ThreadRow| Row::new(cells(row), Value::Thread(row.thread));
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
    let (columns, cells) = columns![|row: &CrossRow|
        Column::field("from") => Value::Thread(row.from),
        Column::field("to") => Value::Thread(row.to),
        Column::new("blocks", "blocks").width(11) => Value::count(row.amount.blocks),
        Column::new("bytes", "bytes").width(11) => Value::bytes(row.amount.bytes),
        Column::field("allocated_by") => Value::Stack(row.allocated_by),
        Column::field("freed_by") => Value::Stack(row.freed_by).recorded(),
    ];
    let row = |row: &CrossRow| {
        let by = match Value::Stack(row.freed_by).recorded() {
            Value::Unknown => Value::Empty,
            freed_by => phrase![": ", freed_by],
        };
        let passed = Row::new([], phrase![Value::Thread(row.from), " → ", Value::Thread(row.to), by]);
        Row::new(cells(row), Value::Stack(row.allocated_by)).below([passed])
    };
    let below = Below { most: Most::All, ..Below::default() };
    let table = Table::new("crossing", columns, "allocated and freed by").titled("By stack");
    Table { below, ..table }.rows(rows.iter().map(row))
}
