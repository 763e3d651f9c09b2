//! A page of text.

use super::cut::{behind, cut};
use super::{Theme, plain, put_at, waiting};
use crate::model::Model;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Draws the page.
pub(super) fn draw(buffer: &mut Buffer, body: Rect, model: &Model, theme: &Theme) {
    let Some(document) = model.document() else {
        return waiting(buffer, body, model, theme);
    };
    let cursor = model.cursor_now();
    for (row, line) in (0..body.height).zip(document.iter().skip(cursor.top)) {
        let seen = cut(&behind(&plain(line), cursor.left), usize::from(body.width));
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
