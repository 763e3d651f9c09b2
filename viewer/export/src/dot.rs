//! A call graph for Graphviz in the style of pprof: functions as boxes sized by what they allocate themselves, calls
//! as arrows sized by what is allocated below them.

use super::call_graph::CallGraph;
use crate::options::ExportOptions;
use analysis::format::{count, percent};
use analysis::{Amount, LabelId, Metric, Share};
use capture::{NodeId, ProcessId};
use engine::Loaded;
use report::text::{Units, caveats, escape, scope};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

/// Most functions that are drawn by default: a page that is still readable.
const FUNCTIONS: usize = 80;
const LEAST_FUNCTION: f64 = 0.5;

/// Most characters of a name in a box.
const NAME: usize = 80;

/// The quantity of each stack that is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Its name in the title.
    pub name: String,
    /// The metric whose units its numbers have.
    pub metric: Metric,
    /// Whether blocks are counted rather than bytes.
    pub counts_blocks: bool,
    /// Whether it is a change, which has a sign.
    pub is_change: bool,
}

/// How much is drawn; none: the default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cuts {
    /// Functions and calls below this share of the total are left out.
    pub min: Option<Share>,
    /// Most functions that are drawn.
    pub limit: Option<usize>,
}

/// Writes the functions and calls that matter in the metric of the options.
pub(crate) fn write(out: &mut dyn Write, loaded: &Loaded, options: &ExportOptions) -> io::Result<()> {
    let metric = options.metric;
    let (name, counts_blocks) = (metric.name().to_owned(), metric.counts_blocks());
    let measure = Measure { name, metric, counts_blocks, is_change: false };
    let stacks: Vec<_> = of_each(loaded, metric).collect();
    draw(out, loaded, &measure, &stacks, Cuts { min: options.min, limit: options.limit })
}

/// What each stack has in a metric.
pub fn of_each(loaded: &Loaded, metric: Metric) -> impl Iterator<Item = (ProcessId, NodeId, Amount)> + '_ {
    loaded.profile.sites.iter().map(move |site| (site.process, site.node, metric.of(&site.cost)))
}

/// Writes the functions and calls that matter, given what stacks of processes have of a measure.
pub fn draw(
    out: &mut dyn Write,
    loaded: &Loaded,
    measure: &Measure,
    stacks: &[(ProcessId, NodeId, Amount)],
    cuts: Cuts,
) -> io::Result<()> {
    let drawing = Drawing::new(loaded, measure, stacks);
    let graph = CallGraph::of(loaded, stacks.iter().copied());
    let mut own: HashMap<LabelId, Amount> = HashMap::new();
    for (place, amount) in graph.own() {
        *own.entry(place.label).or_default() += amount;
    }
    let least = cuts.min.unwrap_or(Share::percent(LEAST_FUNCTION)).least(drawing.whole).max(1);
    let weight = |amount: Amount| drawing.rank(amount).saturating_abs();
    let mut functions = graph.total();
    let all = functions.iter().filter(|(_, total)| weight(*total) != 0).count();
    functions.retain(|(_, total)| weight(*total) >= least);
    functions.sort_unstable_by_key(|&(label, total)| (Reverse(weight(total)), label));
    functions.truncate(cuts.limit.unwrap_or(FUNCTIONS));

    drawing.head(out, functions.len(), all)?;
    for &(label, total) in &functions {
        drawing.function(out, label, total, own.get(&label).copied().unwrap_or_default())?;
    }
    // Calls from several lines share one arrow.
    let mut calls: BTreeMap<(LabelId, LabelId), Amount> = BTreeMap::new();
    for ((place, callee), amount) in graph.calls() {
        *calls.entry((place.label, callee)).or_default() += amount;
    }
    let drawn: HashMap<LabelId, Amount> = functions.into_iter().collect();
    for ((caller, callee), amount) in calls {
        if weight(amount) >= least && drawn.contains_key(&caller) && drawn.contains_key(&callee) {
            drawing.call(out, caller, callee, amount)?;
        }
    }
    writeln!(out, "}}")
}

struct Drawing<'a> {
    loaded: &'a Loaded,
    measure: &'a Measure,
    units: Units<'a>,
    total: Amount,
    /// What shares refer to: the total or, for a change, the sum of all changes in either direction.
    whole: i64,
}

impl<'a> Drawing<'a> {
    fn new(loaded: &'a Loaded, measure: &'a Measure, stacks: &[(ProcessId, NodeId, Amount)]) -> Self {
        let units = Units::of(loaded, measure.metric);
        let mut drawing = Self { loaded, measure, units, total: Amount::ZERO, whole: 0 };
        for (_, _, amount) in stacks {
            drawing.total += *amount;
            let rank = drawing.rank(*amount);
            let weight = if measure.is_change { rank.saturating_abs() } else { rank };
            drawing.whole = drawing.whole.saturating_add(weight);
        }
        drawing
    }

    fn head(&self, out: &mut dyn Write, shown: usize, all: usize) -> io::Result<()> {
        let what = format!("{}: {}", escape(&self.measure.name), self.number(self.total));
        let hidden = match all - shown {
            0 => String::new(),
            hidden => format!("\n{} of {} functions are not shown", count(hidden as u64), count(all as u64)),
        };
        let caveats: String = caveats(self.loaded).iter().map(|caveat| format!("\n{caveat}")).collect();
        let title = quoted(&format!("{}\n{what}{hidden}{caveats}", scope(self.loaded)));
        // The exact number, for verification.
        writeln!(out, "// total {}", self.rank(self.total))?;
        writeln!(out, "digraph memory {{\n  label={title} labelloc=t labeljust=l fontname=\"sans-serif\"")?;
        writeln!(out, "  node [shape=box style=filled fillcolor=\"#f8f8f8\" fontname=\"sans-serif\"]")?;
        writeln!(out, "  edge [fontname=\"sans-serif\" fontsize=10]")
    }

    fn function(&self, out: &mut dyn Write, label: LabelId, total: Amount, own: Amount) -> io::Result<()> {
        let share = self.share(own);
        let names = self.loaded.names.label(label);
        let short: String = escape(&names.short()).chars().take(NAME).collect();
        let text = match self.rank(own) {
            0 => format!("{short}\n0 of {}", self.part(total)),
            rank if rank == self.rank(total) => format!("{short}\n{}", self.part(own)),
            _ => format!("{short}\n{} of {}", self.part(own), self.part(total)),
        };
        let size = 9.0 + 18.0 * share.sqrt();
        // From grey to red for what it has itself, or to blue for what it has less.
        let hue = if self.rank(own) < 0 { 0.58 } else { 0.03 };
        let saturation = 0.05 + 0.45 * share.sqrt();
        writeln!(
            out,
            "  f{} [label={} tooltip={} fontsize={size:.0} fillcolor=\"{hue} {saturation:.3} 0.97\"]",
            label.0,
            quoted(&text),
            quoted(&escape(&names.name)),
        )
    }

    fn call(&self, out: &mut dyn Write, caller: LabelId, callee: LabelId, amount: Amount) -> io::Result<()> {
        let share = self.share(amount);
        writeln!(
            out,
            "  f{} -> f{} [label={} penwidth={:.2} weight={}]",
            caller.0,
            callee.0,
            // No-break spaces are not stripped, so the number does not begin below a thick arrow.
            quoted(&format!("\u{a0}\u{a0}{}", self.number(amount))),
            1.0 + 4.0 * share,
            1 + (share * 100.0) as u32,
        )
    }

    fn rank(&self, amount: Amount) -> i64 {
        if self.measure.counts_blocks { amount.blocks } else { amount.bytes }
    }

    fn number(&self, amount: Amount) -> String {
        let pair = if self.measure.is_change { self.units.signed(amount) } else { self.units.pair(amount) };
        if self.measure.counts_blocks == self.measure.metric.counts_blocks() { pair.0 } else { pair.1 }
    }

    /// A number with its share; a change has no share.
    fn part(&self, amount: Amount) -> String {
        let number = self.number(amount);
        match self.measure.is_change {
            true => number,
            false => format!("{number} ({})", percent(self.rank(amount), self.whole)),
        }
    }

    fn share(&self, amount: Amount) -> f64 {
        let weight = self.rank(amount).saturating_abs();
        if self.whole <= 0 { 0.0 } else { (weight as f64 / self.whole as f64).clamp(0.0, 1.0) }
    }
}

/// A quoted string: in DOT, a backslash begins an escape that aligns lines, and an ampersand begins a character
/// entity.
fn quoted(text: &str) -> String {
    format!(
        "\"{}\"",
        text.replace('&', "&amp;").replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that no text ends its quotes, and that backslashes and ampersands are shown literally.
    #[test]
    fn texts_stay_within_their_quotes() {
        assert_eq!(quoted("a\\l\"b\nc"), r#""a\\l\"b\nc""#);
        assert_eq!(quoted("f&lt;&&g"), r#""f&amp;lt;&amp;&amp;g""#);
    }
}
