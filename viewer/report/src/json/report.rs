//! `report --json`: rows of stacks, of functions, or the nodes of a tree.

use super::document::{Fields, kind};
use super::tree::{Nodes, WithNodes};
use super::write_document;
use crate::options::{ReportOptions, Shape};
use crate::table::{self, Value};
use crate::views::fields;
use analysis::{
    Amount, Cost, Cutoff, FunctionCost, Metric, Row, Shown, Span, Spread, StackState, Tree, call_of_row,
    places_of_functions, ranked_functions, rows, stack_states,
};
use engine::Loaded;
use std::io::{self, Write};

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
    let Loaded { profile, tables, names, .. } = loaded;
    let metric = options.metric;
    let tree = match options.shape {
        Shape::Stacks => {
            fields.extend(stacks(loaded, metric, cutoff));
            return write_document(out, &Fields { loaded, fields });
        }
        Shape::Functions => {
            fields.extend(functions(loaded, metric, cutoff));
            return write_document(out, &Fields { loaded, fields });
        }
        Shape::Tree => Tree::top_down(profile, tables, names, metric),
        Shape::Inverted => Tree::inverted(profile, tables, names, metric, cutoff.least),
    };
    let numbers = |id, shown: &Shown| {
        let (total, own) = ((tree.node(id).total, tree.spread(id)), (tree.own(id), tree.own_spread(id)));
        let mut fields = with_own(loaded, total, own);
        fields.extend([
            ("hidden_nodes", Value::count(shown.hidden as u64)),
            ("hidden_blocks", Value::count(shown.hidden_total.blocks)),
            ("hidden_bytes", Value::bytes(shown.hidden_total.bytes)),
        ]);
        fields
    };
    let nodes = Nodes { loaded, tree: &tree, metric, cutoff, numbers };
    write_document(out, &WithNodes { fields: Fields { loaded, fields }, nodes })
}

fn stacks(loaded: &Loaded, metric: Metric, cutoff: Cutoff) -> table::Fields {
    let states = stack_states(&loaded.tables);
    let rows = rows(&loaded.profile, metric);
    let is_shown = |row: &&Row| metric.rank(metric.of(&row.cost)) >= cutoff.least;
    let shown = rows.iter().take_while(is_shown).take(cutoff.limit).count();
    let (mut rest, mut rest_spread) = (Cost::default(), Cost::default());
    for row in &rows[shown..] {
        rest += row.cost;
        rest_spread += row.spread;
    }
    let fields = rows[..shown].iter().map(|row| {
        let state = states.get(row.node.index()).copied().unwrap_or(StackState::Incomplete);
        Value::Record(vec![
            ("stack", Value::Stack(row.node)),
            ("call", call_of_row(&loaded.tables, row.node, &row.cost).into()),
            ("state", state.name().into()),
            ("", Value::costs(row.cost, row.spread)),
        ])
    });
    let hidden = ("rows", Value::count((rows.len() - shown) as u64));
    let hidden = vec![hidden, ("", Value::costs(rest, rest_spread))];
    vec![("rows", Value::List(fields.collect())), ("hidden", Value::Record(hidden))]
}

fn functions(loaded: &Loaded, metric: Metric, cutoff: Cutoff) -> table::Fields {
    let Loaded { profile, tables, names, .. } = loaded;
    let costs = ranked_functions(profile, tables, names, metric);
    let is_shown = |cost: &&FunctionCost| metric.rank(cost.total) >= cutoff.least;
    let shown = costs.iter().take_while(is_shown).take(cutoff.limit).count();
    let places = places_of_functions(profile, tables, names, metric);
    let fields = costs[..shown].iter().map(|cost| {
        let place = places[cost.label.index()];
        let file = place.file.map_or(Value::Unknown, |file| Value::named(tables.string(file)));
        let line = Value::known(place.line.map(Value::count));
        let mut fields = vec![("", Value::Who(cost.label)), ("file", file), ("line", line)];
        fields.extend(with_own(loaded, (cost.total, cost.total_spread), (cost.own, cost.own_spread)));
        Value::Record(fields)
    });
    let hidden = Value::count((costs.len() - shown) as u64);
    vec![("functions", Value::List(fields.collect())), ("hidden_functions", hidden)]
}

/// What a function costs with all that it calls, and its own part, with standard errors if the capture is sampled.
fn with_own(loaded: &Loaded, total: (Amount, Spread), own: (Amount, Spread)) -> table::Fields {
    let mut fields = vec![
        ("total_blocks", Value::count(total.0.blocks)),
        ("total_bytes", Value::bytes(total.0.bytes)),
        ("self_blocks", Value::count(own.0.blocks)),
        ("self_bytes", Value::bytes(own.0.bytes)),
    ];
    if loaded.profile.sampling.is_some() {
        let errors = [
            ("total_blocks", total.1.blocks_error()),
            ("total_bytes", total.1.bytes_error()),
            ("self_blocks", own.1.blocks_error()),
            ("self_bytes", own.1.bytes_error()),
        ];
        fields.push(("", Value::Errors(errors.into())));
    }
    fields
}
