//! A tree of calls, and rows of functions: numbers, then names.

use super::cut::before;
use super::{Theme, put, put_at, tint};
use crate::model::{Model, Pane, Row, layout};
use crate::work::{View, header, numbers, rank};
use analysis::{Amount, Kind, LabelId};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use report::text::fit_name;

/// From this width on, both numbers of a row are shown: names matter more.
const WIDE: u16 = 100;

/// The columns of the own part and of the name in an area of this width.
fn places(width: u16) -> (u16, u16) {
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
        let (node, lead) = (tree.node(row.id), lead(&row) + mark(&row));
        row_of(buffer, rows, place, view, (node.label, node.total, Some(tree.own(row.id)), &lead), theme);
        if row.is_selected {
            tint(buffer, rows, place, theme.selected(has_focus));
        }
    }
}

/// A row: its total, its own part, which is blank where it has none, and its name behind a lead, cut to the rest of the
/// row.
pub(super) fn row_of(
    buffer: &mut Buffer,
    area: Rect,
    place: u16,
    view: &View,
    (label, total, own, lead): (LabelId, Amount, Option<Amount>, &str),
    theme: &Theme,
) {
    let (metric, names) = (view.question.metric, &view.loaded.names);
    let (own_at, name_at) = places(area.width);
    let numbers = numbers(&view.loaded, metric, total, metric.of(&view.loaded.profile.total));
    put(buffer, area, place, before(&numbers, own_at), theme.value());
    if let Some(own) = own {
        let own = if own.is_zero() { String::new() } else { rank(&view.loaded, metric, own) };
        put_at(buffer, area, own_at, place, &format!("{own:>11}"), theme.detail());
    }
    let column = put_at(buffer, area, name_at, place, lead, theme.detail());
    let room = usize::from(area.width.saturating_sub(column));
    let kind = names.label(label).kind;
    let style = match (kind, process_of(view, label)) {
        (Kind::Process, Some(process)) => theme.heading().patch(theme.process(process)),
        _ => theme.of_kind(kind),
    };
    put_at(buffer, area, column, place, &fit_name(names, label, room), style);
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

/// The first process of a name.
pub(super) fn process_of(view: &View, label: LabelId) -> Option<capture::ProcessId> {
    let processes = (0..view.loaded.tables.processes.len()).map(capture::ProcessId::from_index);
    processes.into_iter().find(|&process| view.loaded.names.process(process) == label)
}
