//! A page of text.

use super::{Theme, put, put_at};
use crate::catalogue;
use crate::model::Model;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Draws the page.
pub(super) fn draw(buffer: &mut Buffer, body: Rect, model: &Model, theme: &Theme) {
    let Some(document) = model.document() else {
        put(buffer, body, 0, if model.is_busy { catalogue::READING } else { "" }, theme.detail());
        return;
    };
    let cursor = model.cursor_now();
    for (row, line) in (0..body.height).zip(document.lines.iter().skip(cursor.top)) {
        let (mut column, mut hidden) = (0, cursor.left);
        for (tone, text) in line {
            let seen: String = text.chars().skip(hidden).collect();
            hidden = hidden.saturating_sub(text.chars().count());
            column = put_at(buffer, body, column, row, &seen, theme.tone(*tone));
        }
    }
}
