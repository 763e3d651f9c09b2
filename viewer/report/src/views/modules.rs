//! `modules`: which executables and libraries allocate, and hold.

use super::{Source, View};
use crate::table::{Column, Document, Row, Table, Title, Value};
use analysis::{Cost, Metric, Spread, meaningful};
use capture::{Frame, ModuleId, Tables};
use engine::Loaded;
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub(super) const VIEW: View = View {
    id: "modules",
    by: "module",
    about: "Show which executables and libraries allocate, and what they hold",
    source: Source::Sums(modules),
};

/// A row for each file, the one that held most at the peak first.
fn modules(loaded: &Loaded) -> Document {
    let mut sums: BTreeMap<Option<ModuleId>, (Cost, Cost<Spread>)> = BTreeMap::new();
    for (site, spread) in loaded.profile.sites_with_spread() {
        let frame = meaningful(&loaded.tables, &loaded.names, site.node).next();
        let sum = sums.entry(frame.and_then(|(frame, _)| module(&loaded.tables, frame))).or_default();
        sum.0 += site.cost;
        sum.1 += spread;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, (cost, _))| Reverse((cost.peak.bytes, cost.allocated.bytes)));
    let rows = sums.into_iter().map(|(module, (cost, spread))| {
        let path = module.and_then(|module| loaded.tables.modules.get(module.index()));
        let path = path.map(|module| Value::name(&module.path));
        let numbers = [
            Value::size_of(cost.peak, spread.peak),
            Value::size_of(cost.live(), spread.live()),
            Value::size_of(cost.allocated, spread.allocated),
            Value::blocks_of(cost.allocated, spread.allocated),
        ];
        let cells = [Value::known(path.clone()), Value::costs(cost, spread)].into_iter().chain(numbers);
        Row::new(cells.collect::<Vec<_>>(), path.unwrap_or_else(|| "no file".into()))
    });
    let columns = ["module", ""].map(Column::field).into_iter();
    let columns = columns.chain(["peak", "still held", "allocated", "calls"].map(Column::shown));
    let table = Table::new("rows", columns.collect::<Vec<_>>(), "file").rows(rows);
    Document::new("modules", Title::Amount(Metric::Peak), [Table { noun: "more file", ..table }])
}

fn module(tables: &Tables, frame: capture::FrameId) -> Option<ModuleId> {
    match tables.frames.get(frame.index()) {
        Some(Frame::Code { module, .. }) => *module,
        _ => None,
    }
}
