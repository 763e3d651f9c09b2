//! Draws the model on the screen. Nothing is counted or decided here.

mod changes;
mod colour;
pub(crate) mod copy;
mod cut;
mod document;
mod flame;
mod functions;
mod help;
mod list;
mod retained;
mod status;
mod time;
mod tracks;
mod tree;

pub(crate) use colour::Theme;
pub(crate) use help::lines as help_lines;

use crate::catalogue;
use crate::model::{Model, Page, wrapped};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use report::text::Line;

/// Draws everything.
pub(crate) fn draw(buffer: &mut Buffer, model: &Model, theme: &Theme) {
    if model.screen != buffer.area {
        // The terminal was just resized; the event is about to arrive.
        return;
    }
    let areas = model.areas();
    status::title(buffer, areas.title, model, theme);
    status::tabs(buffer, areas.tabs, model, theme);
    for (row, note) in (0..areas.notes.height).zip(model.notes()) {
        put(buffer, areas.notes, row, &note, theme.warning());
    }
    if let Some(help) = &model.help {
        help::draw(buffer, areas.body, help.top, theme);
    } else {
        page(buffer, areas.body, model, theme);
    }
    status::footer(buffer, areas.footer, model, theme);
}

fn page(buffer: &mut Buffer, body: Rect, model: &Model, theme: &Theme) {
    let Some(view) = model.view() else {
        return waiting(buffer, body, model, theme);
    };
    if let Some(reason) = model.why_nothing_is_shown().filter(|_| !model.page.is_of_scans()) {
        return paragraph(buffer, body, &reason, theme);
    }
    let total = model.total();
    let is_about_stacks = matches!(model.page, Page::Functions | Page::Tree | Page::Flame);
    if is_about_stacks && total.is_zero() {
        let of = report::views::subject(&view.loaded);
        let text = catalogue::nothing_to_show(of, view.question.metric.what());
        put(buffer, body, 0, &text, theme.detail());
        return;
    }
    match model.page {
        Page::Tree => tree::draw(buffer, body, model, theme),
        Page::Changes => changes::draw(buffer, body, model, theme),
        Page::Flame => flame::draw(buffer, body, model, theme),
        Page::Functions => functions::draw(buffer, body, model, theme),
        Page::Time => time::draw(buffer, body, model, theme),
        Page::Leaks | Page::Temporary | Page::Frees | Page::FreesInverted | Page::Lines | Page::Marks => {
            list::draw(buffer, model, theme)
        }
        page if page.is_of_scans() => retained::draw(buffer, model, theme),
        _ => document::draw(buffer, body, model, theme),
    }
}

/// Says that the page is being read, once that takes a while.
fn waiting(buffer: &mut Buffer, area: Rect, model: &Model, theme: &Theme) {
    put(buffer, area, 0, if model.is_busy { catalogue::READING } else { "" }, theme.detail());
}

/// Writes sentences instead of a page.
fn paragraph(buffer: &mut Buffer, area: Rect, text: &str, theme: &Theme) {
    for (row, line) in (0..area.height).zip(wrapped(text, area.width.into())) {
        put(buffer, area, row, &line, theme.detail());
    }
}

/// The text of a line without roles.
pub(crate) fn plain(line: &Line) -> String {
    line.iter().map(|(_, text)| text.as_str()).collect()
}

/// Writes a line into an area, as far as it fits; returns the column behind it.
pub(crate) fn put(buffer: &mut Buffer, area: Rect, row: u16, text: &str, style: Style) -> u16 {
    put_at(buffer, area, 0, row, text, style)
}

/// As [`put`], from a column on.
pub(crate) fn put_at(
    buffer: &mut Buffer,
    area: Rect,
    column: u16,
    row: u16,
    text: &str,
    style: Style,
) -> u16 {
    if row >= area.height || column >= area.width {
        return area.width;
    }
    let room = usize::from(area.width - column);
    let (x, _) = buffer.set_stringn(area.x + column, area.y + row, cut::cut(text, room), room, style);
    x - area.x
}

/// Sets the style of a row of an area.
pub(crate) fn tint(buffer: &mut Buffer, area: Rect, row: u16, style: Style) {
    if row < area.height {
        buffer.set_style(Rect { y: area.y + row, height: 1, ..area }, style);
    }
}
