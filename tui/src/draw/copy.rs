//! A copy of the page, to be pasted elsewhere: all open rows, not only those that fit on the screen.

use super::plain;
use super::status::about;
use crate::catalogue;
use crate::model::{Model, Page, Pane};
use crate::work::{RowTarget, View, cells, heads, rank, retained_cells, retained_heads};
use analysis::{Amount, Kind, LabelId, Tree};
use export::flamegraph;
use heap_graph::Holder;
use report::outline::{Form, Outline, OutlineRow};

/// The target of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Into {
    /// The terminal's clipboard.
    Clipboard,
    /// A file.
    File,
}

impl Into {
    /// Most rows of a copy. Terminals take few; a file gets as many as can be made while the user waits, and be read
    /// by a human.
    pub(crate) fn most(self) -> usize {
        match self {
            Self::Clipboard => 2_000,
            Self::File => 100_000,
        }
    }

    /// How to get the rows that are left out.
    fn way(self) -> &'static str {
        match self {
            Self::Clipboard => catalogue::COPY_BY_WRITING,
            Self::File => catalogue::COPY_BY_CHOOSING,
        }
    }
}

/// As a drawing, if the page is a flame graph or a tree: all of it, whatever part is on the screen.
pub(crate) fn picture(model: &Model) -> Option<String> {
    let (view, tree, sums) = match model.page {
        Page::Tree | Page::Flame => {
            model.pane().shown().map(|(view, tree)| (view.clone(), tree.clone(), None))?
        }
        Page::Changes => {
            let changes = model.changed()?;
            (changes.view.clone(), changes.view.tree.clone(), Some(changes.sums.clone()))
        }
        _ => return None,
    };
    let mut out = Vec::new();
    flamegraph(&mut out, &view.loaded, &tree, sums.as_deref(), view.question.metric).ok()?;
    String::from_utf8(out).ok()
}

/// In some form: its rows, or its text.
pub(crate) fn written(model: &Model, form: Form, into: Into) -> String {
    match outline(model, into.most()) {
        Some((mut outline, left_out)) => {
            outline.rows.extend((left_out > 0).then(|| OutlineRow {
                name: catalogue::not_copied(left_out, into.way()),
                is_generated: true,
                ..OutlineRow::default()
            }));
            outline.to_text(form).trim_end().to_owned()
        }
        None => {
            let text = model
                .document()
                .iter()
                .flat_map(|lines| lines.iter())
                .map(plain)
                .collect::<Vec<_>>()
                .join("\n");
            if form == Form::Markdown { format!("```text\n{text}\n```") } else { text }
        }
    }
}

/// At most `most` rows, and how many more there are.
fn outline(model: &Model, most: usize) -> Option<(Outline, usize)> {
    let mut title = vec![format!("{}: {}", model.file, about(model))];
    if model.page.is_of_scans()
        && let Some(reason) = model.why_nothing_is_kept()
    {
        title.push(reason);
        return Some((Outline { title, ..Outline::default() }, 0));
    }
    if let Some(kept) = model.retained().filter(|_| model.page.is_of_scans() && model.page != Page::Scans) {
        title.extend(kept.about.iter().cloned());
        title.extend((model.page == Page::Unreachable).then(|| kept.meaning.to_owned()));
    }
    match model.page {
        Page::Tree | Page::Flame => {
            let outline = Outline { title, ..of_pane(model.pane(), most)? };
            let left_out = model.pane().count() - outline.rows.len();
            Some((outline, left_out))
        }
        Page::Functions => {
            let view = model.functions.view()?;
            let rows = (0..model.functions.len().min(most)).filter_map(|place| model.functions.row(place));
            let whole = view.question.metric.of(&view.loaded.profile.total);
            let rows = rows.map(|(label, total, own)| named(view, label, [total, whole], own, 0));
            let outline = Outline { title, columns: columns(view), rows: rows.collect() };
            Some((outline, model.functions.len().saturating_sub(most)))
        }
        Page::Retained => {
            let outline = of_kept(model, title, most);
            let left_out = model.retained_tree.count() - outline.rows.len();
            Some((outline, left_out))
        }
        _ => {
            let list = model.list()?;
            // A list that is cut ends with a row that says so, which is not counted.
            let count = list.rows.len() - usize::from(list.left_out > 0);
            let left_out = if count > most { count - most + list.left_out } else { 0 };
            let shown = if count > most { most } else { list.rows.len() };
            let rows = list.rows.iter().take(shown).flat_map(|row| {
                let own = OutlineRow {
                    numbers: row.numbers.clone(),
                    indent: 0,
                    name: row.name.clone(),
                    is_generated: row.is_of_others(),
                };
                // In lists with two sides, the lines about a row are more than its stack, which stands elsewhere,
                // too.
                let told = if model.page.inverted().is_some() { row.about.get(1..) } else { None };
                let told = told.unwrap_or_default();
                let below = told.iter().map(|text| OutlineRow {
                    indent: 1,
                    name: text.clone(),
                    is_generated: true,
                    ..OutlineRow::default()
                });
                std::iter::once(own).chain(below)
            });
            let columns = list.heads.clone();
            let title = title.into_iter().chain(list.about.iter().cloned()).collect();
            Some((Outline { title, columns, rows: rows.collect() }, left_out))
        }
    }
}

/// The open rows of the tree of what keeps what; all their numbers are in columns.
fn of_kept(model: &Model, title: Vec<String>, most: usize) -> Outline {
    let Some((kept, tree)) = model.retained_tree.shown() else {
        return Outline { title, ..Outline::default() };
    };
    let whole = tree.node(Tree::ROOT).total;
    let rows = model.retained_tree.all_rows(most).into_iter().map(|row| {
        let node = tree.node(row.id);
        let label = kept.label(node.label);
        OutlineRow {
            numbers: retained_cells(node.total, kept.own(row.id), whole).into(),
            indent: row.indent as usize,
            name: label.name.clone(),
            is_generated: !matches!(label.target, RowTarget::For(Holder::Root(_) | Holder::Stack(_))),
        }
    });
    Outline { columns: retained_heads().into(), rows: rows.collect(), title }
}

/// The open rows of a tree.
fn of_pane(pane: &Pane, most: usize) -> Option<Outline> {
    let (view, tree) = pane.shown()?;
    let whole = view.question.metric.of(&view.loaded.profile.total);
    let rows = pane.all_rows(most).into_iter().map(|row| {
        let node = tree.node(row.id);
        named(view, node.label, [node.total, whole], tree.own(row.id), row.indent as usize)
    });
    Some(Outline { columns: columns(view), rows: rows.collect(), title: Vec::new() })
}

fn columns(view: &View) -> Vec<String> {
    let heads = heads(&view.loaded, view.question.metric).into_iter();
    heads.chain(["self", "function"].map(str::to_owned)).collect()
}

fn named(view: &View, label: LabelId, [total, whole]: [Amount; 2], own: Amount, indent: usize) -> OutlineRow {
    let metric = view.question.metric;
    let own = if own.is_zero() { String::new() } else { rank(&view.loaded, metric, own) };
    let numbers = cells(&view.loaded, metric, total, whole).into_iter().chain([own]).collect();
    let label = view.loaded.names.label(label);
    let is_generated = !matches!(label.kind, Kind::Function(..) | Kind::Process);
    OutlineRow { numbers, indent, name: label.name.clone(), is_generated }
}
