//! A call graph for Graphviz, drawn as pprof draws it: functions as boxes that grow with what they allocate themselves,
//! calls as arrows that grow with what is allocated below them.

use super::ExportOptions;
use super::call_graph::CallGraph;
use crate::analysis::{Amount, LabelId, Metric, Share};
use crate::format::{bytes, count, percent};
use crate::loaded::Loaded;
use crate::text::escape;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

/// What is drawn unless the user wants otherwise: a page that can be read.
const FUNCTIONS: usize = 80;
const LEAST_FUNCTION: f64 = 0.5;

/// Letters of a name in a box.
const NAME: usize = 80;

/// Writes the functions and calls that matter in the metric of the options.
pub(super) fn write(out: &mut dyn Write, loaded: &Loaded, options: &ExportOptions) -> io::Result<()> {
    let metric = options.metric;
    let drawing = Drawing { loaded, metric, total: metric.rank(metric.of(&loaded.profile.total)) };
    let graph = CallGraph::new(loaded);
    let mut own: HashMap<LabelId, Amount> = HashMap::new();
    for (place, cost) in graph.own() {
        *own.entry(place.label).or_default() += metric.of(&cost);
    }
    let least = options.min.unwrap_or(Share::percent(LEAST_FUNCTION)).least(drawing.total).max(1);
    let mut functions: Vec<(LabelId, i64)> =
        graph.total().iter().map(|(label, cost)| (*label, metric.rank(metric.of(cost)))).collect();
    let all = functions.iter().filter(|(_, rank)| *rank != 0).count();
    functions.retain(|(_, rank)| *rank >= least);
    functions.sort_unstable_by_key(|&(label, rank)| (Reverse(rank), label));
    functions.truncate(options.limit.unwrap_or(FUNCTIONS));

    drawing.head(out, functions.len(), all)?;
    for &(label, total) in &functions {
        drawing.function(out, label, total, own.get(&label).copied().unwrap_or_default())?;
    }
    // Calls from several lines are one arrow.
    let mut calls: BTreeMap<(LabelId, LabelId), i64> = BTreeMap::new();
    for ((place, callee), cost) in graph.calls() {
        *calls.entry((place.label, callee)).or_default() += metric.rank(metric.of(&cost));
    }
    let drawn: HashMap<LabelId, i64> = functions.into_iter().collect();
    for ((caller, callee), rank) in calls {
        if rank >= least && drawn.contains_key(&caller) && drawn.contains_key(&callee) {
            drawing.call(out, caller, callee, rank)?;
        }
    }
    writeln!(out, "}}")
}

struct Drawing<'a> {
    loaded: &'a Loaded,
    metric: Metric,
    total: i64,
}

impl Drawing<'_> {
    fn head(&self, out: &mut dyn Write, shown: usize, all: usize) -> io::Result<()> {
        let what = format!("{}: {}", self.metric.name(), self.number(self.total));
        let hidden = match all - shown {
            0 => String::new(),
            hidden => format!("\n{} of {} functions are not shown", count(hidden as u64), count(all as u64)),
        };
        let title = quoted(&format!("{}\n{what}{hidden}", escape(&self.loaded.source.file)));
        // Exactly, for those who check.
        writeln!(out, "// total {}", self.total)?;
        writeln!(out, "digraph memory {{\n  label={title} labelloc=t labeljust=l fontname=\"sans-serif\"")?;
        writeln!(out, "  node [shape=box style=filled fillcolor=\"#f8f8f8\" fontname=\"sans-serif\"]")?;
        writeln!(out, "  edge [fontname=\"sans-serif\" fontsize=10]")
    }

    fn function(&self, out: &mut dyn Write, label: LabelId, total: i64, own: Amount) -> io::Result<()> {
        let own = self.metric.rank(own);
        let share = self.share(own);
        let names = self.loaded.names.label(label);
        let short: String = escape(&names.short()).chars().take(NAME).collect();
        let of = |rank: i64| format!("{} ({})", self.number(rank), percent(rank, self.total));
        let text = match own {
            0 => format!("{short}\n0 of {}", of(total)),
            own if own == total => format!("{short}\n{}", of(own)),
            own => format!("{short}\n{} of {}", of(own), of(total)),
        };
        let size = 9.0 + 18.0 * share.sqrt();
        // From grey to red with what it has itself.
        let saturation = 0.05 + 0.45 * share.sqrt();
        writeln!(
            out,
            "  f{} [label={} tooltip={} fontsize={size:.0} fillcolor=\"0.03 {saturation:.3} 0.97\"]",
            label.0,
            quoted(&text),
            quoted(&escape(&names.name)),
        )
    }

    fn call(&self, out: &mut dyn Write, caller: LabelId, callee: LabelId, rank: i64) -> io::Result<()> {
        let share = self.share(rank);
        writeln!(
            out,
            "  f{} -> f{} [label={} penwidth={:.2} weight={}]",
            caller.0,
            callee.0,
            quoted(&format!(" {}", self.number(rank))),
            1.0 + 4.0 * share,
            1 + (share * 100.0) as u32,
        )
    }

    fn number(&self, rank: i64) -> String {
        if self.metric.counts_blocks() { count(rank) } else { bytes(rank) }
    }

    fn share(&self, rank: i64) -> f64 {
        if self.total <= 0 { 0.0 } else { (rank as f64 / self.total as f64).clamp(0.0, 1.0) }
    }
}

/// A string of the language: within quotes a backslash begins one of the letters that place lines.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that no text ends its quotes, and that backslashes stay what they are.
    #[test]
    fn texts_stay_within_their_quotes() {
        assert_eq!(quoted("a\\l\"b\nc"), r#""a\\l\"b\nc""#);
    }
}
