//! `report --lines`: the cost of each source line.

use super::nothing::nothing;
use super::numbers::Numbers;
use crate::options::ReportOptions;
use crate::table::{Column, Document, Most, Readers, Row, Table, Title, Value, phrase};
use analysis::{LabelId, LineCost};
use engine::Loaded;
use std::cmp::Reverse;

/// The lines that cost most; the shape in the options is ignored.
pub fn lines(
    loaded: &Loaded,
    mut rows: Vec<LineCost>,
    options: &ReportOptions,
    readers: Readers,
) -> Document {
    let metric = options.metric;
    rows.retain(|row| !metric.of(&row.cost).is_zero());
    rows.sort_by_key(|row| Reverse(metric.order(metric.of(&row.cost))));
    let rank = |row: &LineCost| metric.rank(metric.of(&row.cost));
    let cutoff = options.cutoff(loaded, readers);
    let (shown, hidden) = rows.split_at(cutoff.shown(rows.iter().map(rank)));
    let numbers = Numbers::new(loaded, metric);
    let fields = ["source", "line", "name", ""].map(Column::field);
    let row = |row: &LineCost| {
        let file = row.file.map_or("", |file| loaded.tables.string(file));
        let fields = [
            Value::named(file),
            Value::known(row.line.map(Value::count)),
            Value::name(&loaded.names.label(row.label).name),
            Value::costs(row.cost, row.spread),
        ];
        let cells = fields.into_iter().chain(numbers.cells(metric.of(&row.cost), metric.of(&row.spread)));
        let function = Value::Function(row.label);
        let is_placed = row.label != LabelId::EVERYTHING && !file.is_empty();
        let name =
            if is_placed { phrase![Value::Place(row.file, row.line), "  ", function] } else { function };
        Row::new(cells.collect::<Vec<_>>(), name)
    };
    let rest = hidden.first().map(|largest| {
        let sum = hidden.iter().map(|row| (metric.of(&row.cost), metric.of(&row.spread)));
        let (amount, spread) = sum.reduce(|sum, row| (sum.0 + row.0, sum.1 + row.1)).unwrap_or_default();
        let cells = [const { Value::Empty }; 4].into_iter().chain(numbers.cells(amount, spread)).collect();
        Row { cells, ..Row::rest(hidden.len(), "smaller line", cutoff.option(rank(largest))) }
    });
    let columns = fields.into_iter().chain(numbers.columns()).collect::<Vec<_>>();
    let rows = shown.iter().map(row).chain(rest.filter(|_| readers != Readers::Programs));
    let table = Table { most: Most::All, ..Table::new("rows", columns, "line") }.rows(rows);
    Document {
        notes: shown.is_empty().then(|| nothing(loaded, metric)).into_iter().collect(),
        fields: vec![("by", metric.name().into())],
        more: vec![("hidden_rows", Value::count(hidden.len() as u64))],
        ..Document::new("lines", Title::Amount(metric), [table])
    }
}
