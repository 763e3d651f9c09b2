//! A page of text.

use super::cut::{behind, cut};
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
        let whole: String = line.iter().map(|(_, text)| text.as_str()).collect();
        let seen = cut(&behind(&whole, cursor.left), usize::from(body.width));
        // Pieces keep their positions in the line, as far as they are visible.
        let (mut column, mut hidden, mut rest) = (0, cursor.left, seen.as_str());
        for (tone, text) in line {
            let letters = text.chars().count();
            let shown = letters.saturating_sub(hidden);
            hidden = hidden.saturating_sub(letters);
            let end = rest.char_indices().nth(shown).map_or(rest.len(), |(at, _)| at);
            let (piece, behind) = rest.split_at(end);
            column = put_at(buffer, body, column, row, piece, theme.tone(*tone));
            rest = behind;
        }
    }
}
