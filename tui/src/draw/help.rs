//! The help: the table of keys.

use super::{Theme, put, put_at};
use crate::catalogue::MOUSE;
use crate::keys::BINDINGS;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Width of the column of keys.
const KEYS: u16 = 25;

/// Number of rows of the help.
pub(crate) fn lines() -> usize {
    texts().count() + MOUSE.len() + 1
}

fn texts() -> impl Iterator<Item = (&'static str, &'static str)> {
    BINDINGS.iter().filter(|(_, _, keys, _)| !keys.is_empty()).map(|(_, _, keys, text)| (*keys, *text))
}

/// Draws the help from line `top` on.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, top: usize, theme: &Theme) {
    let count = texts().count();
    for (row, place) in (0..area.height).zip(top..) {
        match texts().nth(place) {
            Some((keys, text)) => {
                put(buffer, area, row, keys, theme.heading());
                put_at(buffer, area, KEYS, row, text, Style::new());
            }
            None => {
                let line = place.checked_sub(count + 1).and_then(|line| MOUSE.get(line));
                put(buffer, area, row, line.unwrap_or(&""), theme.detail());
            }
        }
    }
}
