//! The texts of a page, each stored once.

use std::collections::HashMap;

/// Most characters of a text that a page keeps. Names of templates reach some thousand.
const MOST_LETTERS: usize = 4000;

/// Texts by number.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) texts: Vec<String>,
    known: HashMap<String, u32>,
}

impl Texts {
    /// The number of a text.
    pub(super) fn number(&mut self, text: &str) -> u32 {
        let text = shortened(text);
        if let Some(&known) = self.known.get(text.as_str()) {
            return known;
        }
        let number = u32::try_from(self.texts.len()).expect("fewer texts than names of a capture");
        self.texts.push(text.clone());
        self.known.insert(text, number);
        number
    }
}

/// A text, truncated if it is longer than anybody reads.
pub(super) fn shortened(text: &str) -> String {
    cut_at(text, MOST_LETTERS)
}

/// A text of at most so many characters, and a sign where it was cut.
pub(super) fn cut_at(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that a text has one number, and that an endless one is truncated and marked as such.
    #[test]
    fn texts_are_numbered_once() {
        let mut texts = Texts::default();
        let long = "ä".repeat(MOST_LETTERS + 1);
        let numbers = [texts.number("a"), texts.number(&long), texts.number("a"), texts.number("")];
        assert_eq!(numbers, [0, 1, 0, 2]);
        assert_eq!(texts.texts[1].chars().count(), MOST_LETTERS + 1);
        assert!(texts.texts[1].ends_with("ä…"));
    }
}
