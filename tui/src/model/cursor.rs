//! A position in a list of known length: the selected row, and the one at the top of the window.

/// A selection that stays within its list, in a window that follows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The selected row, which keys act on.
    pub(crate) selected: usize,
    /// The first visible row.
    pub(crate) top: usize,
    /// The first visible column of a text.
    pub(crate) left: usize,
}

impl Cursor {
    /// Moves the selection by some rows.
    pub(crate) fn step(&mut self, rows: isize, length: usize) {
        self.selected = self.selected.saturating_add_signed(rows).min(length.saturating_sub(1));
    }

    /// Keeps the selected row in the list, and the window around it.
    pub(crate) fn scroll(&mut self, height: usize, length: usize) {
        self.selected = self.selected.min(length.saturating_sub(1));
        let height = height.max(1);
        self.top = self.top.min(self.selected).max((self.selected + 1).saturating_sub(height));
        self.top = self.top.min(length.saturating_sub(height.min(length)));
    }

    /// Selects the row at an offset from the top one; true when it was selected already.
    pub(crate) fn click(&mut self, row: usize, length: usize) -> bool {
        let at = self.top + row;
        at < length && std::mem::replace(&mut self.selected, at) == at
    }

    /// Scrolls a text sideways, as far as any text is wide.
    pub(crate) fn shift(&mut self, columns: isize) {
        self.left = self.left.saturating_add_signed(columns).min(400);
    }

    /// Scrolls a text, which has no selected row.
    pub(crate) fn slide(&mut self, rows: isize, height: usize, length: usize) {
        self.top = self.top.saturating_add_signed(rows).min(length.saturating_sub(height.max(1)));
        self.selected = self.top;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Check that in any case the selected row is in the list and in the window, and no room is wasted.
        #[test]
        fn selection_is_seen(moves in prop::collection::vec((-30..30_isize, 0..40_usize, 0..12_usize), 1..40)) {
            let mut cursor = Cursor::default();
            for (step, length, height) in moves {
                cursor.step(step, length);
                cursor.scroll(height, length);
                prop_assert!(cursor.selected < length.max(1));
                prop_assert!((cursor.top..cursor.top + height.max(1)).contains(&cursor.selected));
                prop_assert!(cursor.top + height <= length || cursor.top == 0 || height == 0);
            }
        }
    }
}
