//! `lifetimes`: how long blocks live, by size and by stack.

use super::{View, of_blocks};
use crate::table::{Below, Column, Document, Most, Readers, Row, Table, Title, Value};
use analysis::lifetimes::{Age, Cell, LifeRow, LifeTable, Lifetimes, SizeClass};
use analysis::{Amount, Metric};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const VIEW: View = View {
    id: "lifetimes",
    by: "lifetime",
    about: "Show how long blocks live, by size and by stack",
    source: of_blocks!(Lifetimes::new, |_, found: Lifetimes| lifetimes(&found.finish())),
};

/// The map of sizes and lifetimes, and the lifetimes of each stack's blocks.
pub fn lifetimes(table: &LifeTable) -> Document {
    let title = Title::Amount(Metric::Allocations);
    let notes = vec!["to the end: never freed, or freed without a record".into()];
    Document {
        notes,
        ..Document::new("lifetimes", title, [by_size(&table.map), by_stack(table), map(&table.map)])
    }
}

/// Numbers of blocks: a line for each class of sizes, a column for each class of lifetimes; empty classes are left out.
fn by_size(map: &[Cell]) -> Table {
    let ages: BTreeSet<Age> = map.iter().map(|cell| cell.age).collect();
    let mut lines: BTreeMap<SizeClass, BTreeMap<Age, i64>> = BTreeMap::new();
    for cell in map {
        lines.entry(cell.size).or_default().insert(cell.age, cell.amount.blocks);
    }
    let columns = ages.iter().map(|age| Column::shown(age.to_string()).width(11));
    let columns: Vec<Column> = [Column::shown("size").width(12)].into_iter().chain(columns).collect();
    let row = |(size, line): (SizeClass, BTreeMap<Age, i64>)| {
        let blocks =
            ages.iter().map(|age| line.get(age).map_or(Value::Empty, |&blocks| Value::count(blocks)));
        Row::new([Value::Sizes(size)].into_iter().chain(blocks).collect::<Vec<_>>(), Value::Empty)
    };
    let rows = lines.into_iter().map(row);
    Table { most: Most::All, ..Table::new("sizes", columns, "").only(Readers::People).rows(rows) }
}

fn by_stack(table: &LifeTable) -> Table {
    let columns = [
        Column::new("blocks", "blocks").width(12),
        Column::new("bytes", "bytes").width(11),
        Column::shown("share").width(7),
    ];
    let cells = |Amount { blocks, bytes }, share| [Value::count(blocks), Value::bytes(bytes), share];
    let row = |row: &LifeRow| {
        let ages = row.ages.iter().map(|&(age, amount)| {
            Row::new(cells(amount, Value::Share(amount.blocks, row.total.blocks)), Value::Age(age))
        });
        Row::new(cells(row.total, Value::Empty), Value::Stack(row.node)).below(ages)
    };
    let below = Below { id: Some("lifetimes"), key: Some(""), most: Most::All, ..Below::default() };
    let rows = Table::new("rows", columns, "lifetime").named("stack").titled("By stack");
    Table { below, ..rows }.rows(table.stacks.iter().map(row))
}

/// The map, a row for each cell.
fn map(map: &[Cell]) -> Table {
    let row = |cell: &Cell| Row::new([cell.age.into(), cell.amount.into()], Value::Sizes(cell.size));
    let table = Table::new("map", [Column::field(""), Column::field("")], "size").named("");
    table.only(Readers::Programs).rows(map.iter().map(row))
}
