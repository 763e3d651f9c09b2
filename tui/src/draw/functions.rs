//! The three lists of functions.

use super::tree::{heading, pane, row_of};
use super::{Theme, put, tint};
use crate::catalogue;
use crate::model::{Focus, Model, layout};
use crate::work::View;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use report::text::fit_name;

/// Draws the page.
pub(super) fn draw(buffer: &mut Buffer, body: Rect, model: &Model, theme: &Theme) {
    let Some(view) = model.functions.view() else { return };
    for (focus, area) in layout::functions(body) {
        let has_focus = model.functions.focus == focus;
        match focus {
            Focus::Functions => functions(buffer, area, model, view, has_focus, theme),
            Focus::Callers => callers(buffer, area, model, view, has_focus, theme),
            Focus::Below => pane(buffer, area, &model.functions.below, has_focus, theme),
        }
    }
}

fn functions(buffer: &mut Buffer, area: Rect, model: &Model, view: &View, has_focus: bool, theme: &Theme) {
    put(buffer, area, 0, &heading(view, area.width, "self", "function"), theme.detail());
    let rows = layout::below_header(area);
    let cursor = model.functions.cursor;
    for place in 0..rows.height {
        let at = cursor.top + usize::from(place);
        let Some((label, total, own)) = model.functions.row(at) else { break };
        row_of(buffer, rows, place, view, (label, total, Some(own), ""), theme);
        if at == cursor.selected {
            tint(buffer, rows, place, theme.selected(has_focus));
        }
    }
}

fn callers(buffer: &mut Buffer, area: Rect, model: &Model, view: &View, has_focus: bool, theme: &Theme) {
    let selected = model.functions.selected().map(|label| fit_name(&view.loaded.names, label, 40));
    let title = catalogue::callers_of(&selected.unwrap_or_default());
    put(buffer, area, 0, &heading(view, area.width, "", &title), theme.detail());
    let rows = layout::below_header(area);
    let (cursor, callers) = (model.functions.callers_cursor, model.functions.callers());
    for (place, at) in (0..rows.height).zip(cursor.top..callers.len()) {
        let (label, amount) = callers[at];
        row_of(buffer, rows, place, view, (label, amount, None, ""), theme);
        if at == cursor.selected {
            tint(buffer, rows, place, theme.selected(has_focus));
        }
    }
}
