//! `lines --json`: the cost of each source line.

use super::cost::CostFields;
use super::start::Start;
use super::write_document;
use crate::options::ReportOptions;
use analysis::LineCost;
use engine::Loaded;
use serde::Serialize;
use std::cmp::Reverse;
use std::io::{self, Write};

#[derive(Serialize)]
struct LinesDocument<'a> {
    #[serde(flatten)]
    start: Start<'a>,
    by: &'static str,
    rows: Vec<LineFields<'a>>,
    hidden_rows: usize,
}

#[derive(Serialize)]
struct LineFields<'a> {
    #[serde(rename = "source")]
    file: Option<&'a str>,
    line: Option<u32>,
    name: &'a str,
    #[serde(flatten)]
    cost: CostFields,
}

/// Writes `lines --json` of these lines.
///
/// # Errors
/// Those of the writer.
pub fn lines(
    out: &mut dyn Write,
    loaded: &Loaded,
    mut rows: Vec<LineCost>,
    options: &ReportOptions,
) -> io::Result<()> {
    let metric = options.metric;
    let cutoff = options.cutoff_for_json(metric.of(&loaded.profile.total));
    rows.retain(|row| !metric.of(&row.cost).is_zero());
    rows.sort_by_key(|row| Reverse(metric.order(metric.of(&row.cost))));
    let is_shown = |row: &&LineCost| metric.rank(metric.of(&row.cost)) >= cutoff.least;
    let shown = rows.iter().take_while(is_shown).take(cutoff.limit).count();
    let fields = rows[..shown].iter().map(|row| LineFields {
        file: row.file.map(|file| loaded.tables.string(file)).filter(|file| !file.is_empty()),
        line: row.line,
        name: &loaded.names.label(row.label).name,
        cost: CostFields::new(loaded, &row.cost, &row.spread),
    });
    let document = LinesDocument {
        start: Start::new(loaded, "lines"),
        by: metric.name(),
        rows: fields.collect(),
        hidden_rows: rows.len() - shown,
    };
    write_document(out, &document)
}
