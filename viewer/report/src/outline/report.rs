//! The rows of a report.

use super::{Outline, OutlineRow};
use crate::options::{ReportOptions, Shape};
use crate::text::{Style, Units, not_shown, rowless, stack_line, unsampled_texts, warning_texts};
use analysis::format::{bytes, count, percent};
use analysis::{
    Amount, Cutoff, Kind, LabelId, Metric, Shown, Tree, meaningful, ranked_functions, rows_as_read,
};
use engine::Loaded;

/// The rows of the text report, with full names.
pub fn outline(loaded: &Loaded, options: &ReportOptions) -> Outline {
    let metric = options.metric;
    let total = metric.of(&loaded.profile.total);
    let cutoff = options.cutoff_for_text(loaded);
    let (first, second) = Units::of(loaded, metric).heads();
    let columns = match options.shape {
        Shape::Stacks => vec![first, "share", second, "stack"],
        _ => vec![first, "share", second, "self", "function"],
    };
    let mut rows = match options.shape {
        _ if total.is_zero() => Vec::new(),
        Shape::Stacks => of_stacks(loaded, metric, total, cutoff),
        Shape::Functions => of_functions(loaded, metric, total, cutoff),
        Shape::Tree => {
            let tree = Tree::top_down(&loaded.profile, &loaded.tables, &loaded.names, metric);
            of_tree(loaded, &tree, metric, total, cutoff)
        }
        Shape::Inverted => {
            let Loaded { profile, tables, names, .. } = loaded;
            let tree = Tree::inverted(profile, tables, names, metric, cutoff.least);
            of_tree(loaded, &tree, metric, total, cutoff)
        }
    };
    if !total.is_zero()
        && let Some(name) = rowless(loaded, metric)
    {
        let numbers = vec![String::new(); columns.len() - 1];
        rows.push(OutlineRow { numbers, indent: 0, name, is_generated: true });
    }
    Outline { title: title(loaded, metric), columns: columns.into_iter().map(str::to_owned).collect(), rows }
}

fn title(loaded: &Loaded, metric: Metric) -> Vec<String> {
    let file = &loaded.source.file;
    let mut lines = vec![format!("{file}: {}", metric.name())];
    let unsampled = if metric == Metric::Cpu { unsampled_texts(loaded) } else { Vec::new() };
    lines.extend(warning_texts(loaded).into_iter().chain(unsampled).map(|line| format!("warning: {line}")));
    lines
}

fn numbers(loaded: &Loaded, metric: Metric, amount: Amount, total: Amount) -> Vec<String> {
    let share = percent(metric.rank(amount), metric.rank(total));
    let (first, second) = Units::of(loaded, metric).pair(amount);
    vec![first, share, second]
}

fn own(metric: Metric, own: Amount) -> String {
    match own.is_zero() {
        true => String::new(),
        false if metric.counts_blocks() => count(own.blocks),
        false => bytes(own.bytes),
    }
}

fn of_label(loaded: &Loaded, label: LabelId) -> (String, bool) {
    let label = loaded.names.label(label);
    (label.name.clone(), !matches!(label.kind, Kind::Function(..) | Kind::Process))
}

/// A row for those that are hidden: how many, and the option that shows them.
fn rest((hidden, option): (usize, &str), noun: &str, numbers: Vec<String>) -> Option<OutlineRow> {
    let name = not_shown(hidden, noun, option);
    (hidden > 0).then_some(OutlineRow { numbers, indent: 0, name, is_generated: true })
}

fn of_tree(loaded: &Loaded, tree: &Tree, metric: Metric, total: Amount, cutoff: Cutoff) -> Vec<OutlineRow> {
    let mut found = Vec::new();
    let mut open = vec![(What::Node(Tree::ROOT), 0)];
    while let Some((what, indent)) = open.pop() {
        let id = match what {
            What::Node(id) => id,
            What::Rest(row) => {
                found.push(OutlineRow { indent, ..row });
                continue;
            }
        };
        let (name, is_generated) = of_label(loaded, tree.node(id).label);
        let mut cells = numbers(loaded, metric, tree.node(id).total, total);
        cells.push(own(metric, tree.own(id)));
        found.push(OutlineRow { numbers: cells, indent, name, is_generated });
        let shown = Shown::of(tree, id, &loaded.names, metric, cutoff);
        let mut cells = numbers(loaded, metric, shown.hidden_total, total);
        cells.push(String::new());
        let rest = rest((shown.hidden, shown.option), "smaller one", cells);
        // An only child is not indented, so that deep stacks stay readable.
        let below = indent + usize::from(shown.children.len() > 1 || rest.is_some());
        open.extend(rest.map(|row| (What::Rest(row), below)));
        open.extend(shown.children.iter().rev().map(|&child| (What::Node(child), below)));
    }
    found
}

/// A row of a tree to be written.
enum What {
    Node(u32),
    /// The hidden children of a node.
    Rest(OutlineRow),
}

fn of_functions(loaded: &Loaded, metric: Metric, total: Amount, cutoff: Cutoff) -> Vec<OutlineRow> {
    let Loaded { profile, tables, names, .. } = loaded;
    let costs = ranked_functions(profile, tables, names, metric);
    let shown = cutoff.shown(costs.iter().map(|cost| metric.rank(cost.total)));
    let rows = costs[..shown].iter().map(|cost| {
        let (name, is_generated) = of_label(loaded, cost.label);
        let mut cells = numbers(loaded, metric, cost.total, total);
        cells.push(own(metric, cost.own));
        OutlineRow { numbers: cells, indent: 0, name, is_generated }
    });
    let option = costs.get(shown).map_or("", |largest| cutoff.option(metric.rank(largest.total)));
    rows.chain(rest((costs.len() - shown, option), "smaller function", Vec::new())).collect()
}

fn of_stacks(loaded: &Loaded, metric: Metric, total: Amount, cutoff: Cutoff) -> Vec<OutlineRow> {
    let all = rows_as_read(&loaded.profile, &loaded.tables, &loaded.names, metric);
    let amount = |row: &analysis::Row| metric.of(&row.cost);
    let shown = cutoff.shown(all.iter().map(|row| metric.rank(amount(row))));
    let found = all[..shown].iter().map(|row| OutlineRow {
        numbers: numbers(loaded, metric, amount(row), total),
        indent: 0,
        name: stack_line(loaded, row.node, &Style::default(), 0),
        is_generated: meaningful(&loaded.tables, &loaded.names, row.node).next().is_none(),
    });
    let sum = all[shown..].iter().fold(Amount::ZERO, |sum, row| sum + amount(row));
    let option = all.get(shown).map_or("", |largest| cutoff.option(metric.rank(amount(largest))));
    let numbers = numbers(loaded, metric, sum, total);
    found.chain(rest((all.len() - shown, option), "smaller stack", numbers)).collect()
}
