//! Draws the model on the screen.

use super::model::{ABOVE, Line, Model};
use crate::catalogue;
use crate::draw::{Theme, put, put_at, tint};
use crate::keys::OF_TOP;
use engine::live::{By, Reading};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use report::text::{
    Style, fit, stack_line, top_columns, top_function_name, top_function_numbers, top_header, top_is_narrow,
    top_numbers, top_sorted,
};

/// Draws everything.
pub(super) fn draw(buffer: &mut Buffer, model: &Model, theme: &Theme) {
    let screen = model.screen;
    if screen != buffer.area {
        // The terminal was just resized; the event is about to arrive.
        return;
    }
    let last = screen.height.saturating_sub(1);
    let paused = if model.is_paused { catalogue::PAUSED } else { "" };
    put(buffer, screen, last, &format!("{paused}{OF_TOP}"), theme.detail());
    let Some(reading) = &model.reading else {
        put(buffer, screen, 0, catalogue::WAITING, theme.detail());
        return;
    };
    let [first, second, third] = top_header(reading);
    put(buffer, screen, 0, &first, theme.heading());
    put(buffer, screen, 1, &second, theme.value());
    put(buffer, screen, 2, &third, if reading.lost > 0 { theme.warning() } else { theme.detail() });
    let is_narrow = top_is_narrow(screen.width.into());
    let columns = top_columns(is_narrow, reading.by);
    let sorted = format!("{columns}{}", top_sorted(model.by, model.order));
    put(buffer, screen, 3, &sorted, theme.detail());
    let height = u16::try_from(model.height()).unwrap_or(u16::MAX);
    let list = Rect { y: screen.y + ABOVE.min(screen.height), height, ..screen };
    let lines = model.lines();
    for (y, line) in (0..height).zip(lines.iter().skip(model.first)) {
        match line {
            Line::Row(place) => {
                put_row(buffer, list, y, (reading, *place), is_narrow, theme);
                if *place == model.selected_place() {
                    tint(buffer, list, y, theme.selected(true));
                }
            }
            Line::Function(name, place) => {
                let room = usize::from(list.width).saturating_sub(columns.len());
                let from = u16::try_from(columns.len()).unwrap_or(u16::MAX);
                let end = put_at(buffer, list, from, y, &fit(name, room), theme.name());
                put_at(buffer, list, end + 2, y, place, theme.detail());
            }
        }
    }
    put_rest(buffer, list, reading, lines.len().saturating_sub(model.first), theme);
}

fn put_row(
    buffer: &mut Buffer,
    list: Rect,
    y: u16,
    (reading, place): (&Reading, usize),
    is_narrow: bool,
    theme: &Theme,
) {
    let style = Style { color: false, width: Some(usize::from(list.width)) };
    if let Some(row) = reading.rows.get(place) {
        let column = put(buffer, list, y, &top_numbers(reading, &row.change, is_narrow), theme.value());
        let stack = stack_line(&reading.loaded, row.node, &style, column.into());
        put_at(buffer, list, column, y, &stack, theme.name());
    } else if let Some(function) = reading.functions.get(place) {
        let numbers = top_function_numbers(reading, function, is_narrow);
        let column = put(buffer, list, y, &numbers, theme.value());
        let name = top_function_name(reading, function, &style, column.into());
        put_at(buffer, list, column, y, &name, theme.name());
    }
}

/// Says what is not in the list, if there is room below it.
fn put_rest(buffer: &mut Buffer, list: Rect, reading: &Reading, used: usize, theme: &Theme) {
    let text = match reading.hidden.0 {
        0 if reading.rows.is_empty() && reading.functions.is_empty() => catalogue::NO_STACK_YET.to_owned(),
        0 => return,
        rows if reading.by == By::Stacks => catalogue::more_stacks(rows),
        rows => catalogue::more_functions(rows),
    };
    let y = u16::try_from(used).unwrap_or(u16::MAX);
    put(buffer, list, y, &text, theme.detail());
}
