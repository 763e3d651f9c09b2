//! A tree of calls, and rows of functions: numbers, then names.

use super::cut::before;
use super::{Theme, put, put_at, tint};
use crate::model::{Model, Pane, Row, layout};
use crate::work::{View, header, numbers, rank};
use analysis::{Amount, Kind, LabelId, Tree};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use report::text::fit_name;

/// From this width on, both numbers of a row are shown: names matter more.
const WIDE: u16 = 100;

/// The columns of the own part and of the name in an area of this width.
pub(super) fn places(width: u16) -> (u16, u16) {
    if width < WIDE { (20, 33) } else { (32, 45) }
}

/// The heading of rows with names.
pub(super) fn heading(view: &View, width: u16, third: &str, name: &str) -> String {
    let numbers = header(&view.loaded, view.question.metric);
    let numbers: String = numbers.chars().take(usize::from(places(width).0)).collect();
    format!("{numbers:<at$}{third:>11}  {name}", at = usize::from(places(width).0))
}

/// Deepest indent of a name: deeper rows stand here, marked with how much deeper they are.
const INDENT: u32 = 12;

/// Draws the page.
pub(super) fn draw(buffer: &mut Buffer, body: Rect, model: &Model, theme: &Theme) {
    pane(buffer, body, model.pane(), true, theme);
}

/// A pane with its header.
pub(super) fn pane(buffer: &mut Buffer, area: Rect, pane: &Pane, has_focus: bool, theme: &Theme) {
    let Some((view, tree)) = pane.shown() else { return };
    put(buffer, area, 0, &heading(view, area.width, "self", "function"), theme.detail());
    let rows = layout::below_header(area);
    for (place, row) in (0..).zip(pane.rows(usize::from(rows.height))) {
        row_of(buffer, rows, place, view, tree, &row, theme);
        if row.is_selected {
            tint(buffer, rows, place, theme.selected(has_focus));
        }
    }
}

fn row_of(buffer: &mut Buffer, area: Rect, place: u16, view: &View, tree: &Tree, row: &Row, theme: &Theme) {
    let metric = view.question.metric;
    let whole = metric.of(&view.loaded.profile.total);
    let node = tree.node(row.id);
    let (own_at, name_at) = places(area.width);
    let numbers = numbers(&view.loaded, metric, node.total, whole);
    put(buffer, area, place, before(&numbers, own_at), theme.value());
    put_at(buffer, area, own_at, place, &own(view, tree, row.id), theme.detail());
    let before = format!("{}{}", lead(row), mark(row));
    name(buffer, area, name_at, place, view, node.label, &before, theme);
}

/// The mark that says whether a row is open.
pub(super) fn mark(row: &Row) -> &'static str {
    match row.open {
        Some(true) => "▾ ",
        Some(false) => "▸ ",
        None => "  ",
    }
}

/// What precedes a row's mark.
pub(super) fn lead(row: &Row) -> String {
    match row.indent.checked_sub(INDENT) {
        None | Some(0) => "  ".repeat(row.indent as usize),
        Some(more) => format!("{:<width$}", format!("(+{more})"), width = 2 * INDENT as usize),
    }
}

/// A function's own part; blank if it has none, as containers do.
pub(super) fn own(view: &View, tree: &Tree, id: u32) -> String {
    let own = tree.own(id);
    let text = if own.is_zero() { String::new() } else { rank(&view.loaded, view.question.metric, own) };
    format!("{text:>11}")
}

/// A name, cut to the rest of the row.
#[expect(clippy::too_many_arguments, reason = "where, what, and how it looks")]
pub(super) fn name(
    buffer: &mut Buffer,
    area: Rect,
    column: u16,
    row: u16,
    view: &View,
    label: LabelId,
    lead: &str,
    theme: &Theme,
) {
    let column = put_at(buffer, area, column, row, lead, theme.detail());
    let room = usize::from(area.width.saturating_sub(column));
    let names = &view.loaded.names;
    let kind = names.label(label).kind;
    let style = match (kind, process_of(view, label)) {
        (Kind::Process, Some(process)) => theme.heading().patch(theme.process(process)),
        _ => theme.of_kind(kind),
    };
    put_at(buffer, area, column, row, &fit_name(names, label, room), style);
}

/// The first process of a name.
pub(super) fn process_of(view: &View, label: LabelId) -> Option<capture::ProcessId> {
    let processes = (0..view.loaded.tables.processes.len()).map(capture::ProcessId::from_index);
    processes.into_iter().find(|&process| view.loaded.names.process(process) == label)
}

/// The numbers of a function: its total and its own part.
pub(super) fn function_numbers(view: &View, total: Amount, own: Amount) -> (String, String) {
    let metric = view.question.metric;
    let whole = metric.of(&view.loaded.profile.total);
    let own = if own.is_zero() { String::new() } else { rank(&view.loaded, metric, own) };
    (numbers(&view.loaded, metric, total, whole), format!("{own:>11}"))
}
