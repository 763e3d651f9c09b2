//! `report --json`: rows of stacks, of functions, or the nodes of a tree.

use super::document::{Fields, kind};
use super::stack::{Stack, Who, who};
use super::tree::{NodeFields, nodes};
use super::write_document;
use crate::options::{ReportOptions, Shape};
use crate::table::Value;
use crate::views::fields;
use analysis::{
    Cost, Cutoff, FunctionCost, FunctionPlace, Metric, Row, Span, Spread, StackState, Tree, call_of_row,
    places_of_functions, ranked_functions, rows, stack_states,
};
use engine::Loaded;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    fields: Fields<'a>,
    #[serde(flatten)]
    body: Body<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Body<'a> {
    Stacks { rows: Vec<StackFields<'a>>, hidden: Hidden<'a> },
    Functions { functions: Vec<FunctionFields<'a>>, hidden_functions: usize },
    Nodes { nodes: Vec<NodeFields<'a>> },
}

#[derive(Serialize)]
struct StackFields<'a> {
    stack: Stack<'a>,
    call: &'static str,
    state: &'static str,
    #[serde(flatten)]
    cost: Fields<'a>,
}

/// The sum of the hidden rows.
#[derive(Serialize)]
struct Hidden<'a> {
    rows: usize,
    #[serde(flatten)]
    cost: Fields<'a>,
}

#[derive(Serialize)]
struct FunctionFields<'a> {
    #[serde(flatten)]
    who: Who<'a>,
    file: Option<&'a str>,
    line: Option<u32>,
    total_blocks: i64,
    total_bytes: i64,
    self_blocks: i64,
    self_bytes: i64,
    #[serde(flatten)]
    errors: Option<FunctionErrors>,
}

/// Standard errors of a function's costs.
#[derive(Serialize)]
pub(super) struct FunctionErrors {
    total_blocks_stderr: i64,
    total_bytes_stderr: i64,
    self_blocks_stderr: i64,
    self_bytes_stderr: i64,
}

impl FunctionErrors {
    /// None when everything was recorded.
    pub(super) fn new(loaded: &Loaded, total: Spread, own: Spread) -> Option<Self> {
        loaded.profile.sampling.map(|_| Self {
            total_blocks_stderr: total.blocks_error(),
            total_bytes_stderr: total.bytes_error(),
            self_blocks_stderr: own.blocks_error(),
            self_bytes_stderr: own.bytes_error(),
        })
    }
}

/// Writes the document that the options ask for.
///
/// # Errors
/// Those of the writer.
pub fn report(out: &mut dyn Write, loaded: &Loaded, options: &ReportOptions) -> io::Result<()> {
    let total = options.metric.of(&loaded.profile.total);
    let cutoff = options.cutoff_for_json(total);
    // Of several captures each has its own moments.
    let is_one = loaded.profile.others == 0;
    let mut fields = kind("report");
    fields.extend(fields::head(loaded));
    fields.extend([
        ("sample_interval", fields::sample_interval(loaded)),
        ("heap", Value::known(loaded.heap_name().map(Value::name))),
        ("by", options.metric.name().into()),
    ]);
    fields.extend(fields::span(if is_one { loaded.profile.span } else { Span::Whole }));
    fields.extend([
        ("peak_time_ns", Value::known(is_one.then_some(Value::Time(loaded.profile.peak.at.time)))),
        ("total", fields::total(loaded)),
        ("unseen", fields::unseen(loaded.seen.as_ref())),
    ]);
    let document = Document { fields: Fields { loaded, fields }, body: body(loaded, options, cutoff) };
    write_document(out, &document)
}

fn body<'a>(loaded: &'a Loaded, options: &ReportOptions, cutoff: Cutoff) -> Body<'a> {
    let Loaded { profile, tables, names, .. } = loaded;
    let metric = options.metric;
    match options.shape {
        Shape::Stacks => stacks(loaded, rows(profile, metric), metric, cutoff),
        Shape::Functions => {
            functions(loaded, &ranked_functions(profile, tables, names, metric), metric, cutoff)
        }
        Shape::Tree => {
            let tree = Tree::top_down(profile, tables, names, metric);
            Body::Nodes { nodes: nodes(loaded, &tree, metric, cutoff) }
        }
        Shape::Inverted => {
            let tree = Tree::inverted(profile, tables, names, metric, cutoff.least);
            Body::Nodes { nodes: nodes(loaded, &tree, metric, cutoff) }
        }
    }
}

fn stacks(loaded: &Loaded, rows: Vec<Row>, metric: Metric, cutoff: Cutoff) -> Body<'_> {
    let states = stack_states(&loaded.tables);
    let is_shown = |row: &Row| metric.rank(metric.of(&row.cost)) >= cutoff.least;
    let shown = rows.iter().take_while(|row| is_shown(row)).take(cutoff.limit).count();
    let (mut rest, mut rest_spread) = (Cost::default(), Cost::default());
    for row in &rows[shown..] {
        rest += row.cost;
        rest_spread += row.spread;
    }
    let fields = rows[..shown].iter().map(|row| StackFields {
        stack: Stack { tables: &loaded.tables, names: &loaded.names, node: row.node },
        call: call_of_row(&loaded.tables, row.node, &row.cost),
        state: states.get(row.node.index()).copied().unwrap_or(StackState::Incomplete).name(),
        cost: Fields::costs(loaded, row.cost, row.spread),
    });
    Body::Stacks {
        rows: fields.collect(),
        hidden: Hidden { rows: rows.len() - shown, cost: Fields::costs(loaded, rest, rest_spread) },
    }
}

fn functions<'a>(loaded: &'a Loaded, costs: &[FunctionCost], metric: Metric, cutoff: Cutoff) -> Body<'a> {
    let names = &loaded.names;
    let shown =
        costs.iter().take_while(|cost| metric.rank(cost.total) >= cutoff.least).take(cutoff.limit).count();
    let places = places_of_functions(&loaded.profile, &loaded.tables, names, metric);
    let file = |place: FunctionPlace| {
        place.file.map(|file| loaded.tables.string(file)).filter(|path| !path.is_empty())
    };
    let fields = costs[..shown].iter().map(|cost| FunctionFields {
        who: who(&loaded.tables, names, cost.label),
        file: file(places[cost.label.index()]),
        line: places[cost.label.index()].line,
        total_blocks: cost.total.blocks,
        total_bytes: cost.total.bytes,
        self_blocks: cost.own.blocks,
        self_bytes: cost.own.bytes,
        errors: FunctionErrors::new(loaded, cost.total_spread, cost.own_spread),
    });
    Body::Functions { functions: fields.collect(), hidden_functions: costs.len() - shown }
}
