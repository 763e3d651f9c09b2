//! A text in a table of comma-separated values.

use std::borrow::Cow;

/// Characters with which a spreadsheet begins what it computes, and the one that tells it not to.
const COMPUTES: [char; 7] = ['=', '+', '-', '@', '\t', '\r', '\''];

/// A text as a quoted cell, as in RFC 4180. Spreadsheets run what looks like a formula, quoted or not, and names are
/// whatever a program put there; so such a text has an apostrophe in front, as OWASP advises. Because a text with an
/// apostrophe of its own gets one, too, a reader has the text again without the first.
pub fn cell(text: &str) -> String {
    let guard = if text.starts_with(COMPUTES) { "'" } else { "" };
    let text = if text.contains('"') { Cow::Owned(text.replace('"', "\"\"")) } else { Cow::Borrowed(text) };
    format!("\"{guard}{text}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Check that no text is a formula, and that others stay as they are.
    #[test]
    fn formulas_are_texts() {
        for (text, expected) in [
            ("=HYPERLINK(\"x\")", "\"'=HYPERLINK(\"\"x\"\")\""),
            ("@SUM(1)", "\"'@SUM(1)\""),
            ("-[NSObject init]", "\"'-[NSObject init]\""),
            ("+1", "\"'+1\""),
            ("\t=1", "\"'\t=1\""),
            ("\r=1", "\"'\r=1\""),
            ("'t", "\"''t\""),
            ("main;a=b", "\"main;a=b\""),
            ("", "\"\""),
        ] {
            assert_eq!(cell(text), expected);
        }
    }

    proptest! {
        /// Check that every text can be had again.
        #[test]
        fn texts_can_be_had_again(text in "[-=+@'\"\t\ra;]{0,6}") {
            let cell = cell(&text);
            let inner = cell[1..cell.len() - 1].replace("\"\"", "\"");
            prop_assert_eq!(inner.strip_prefix('\'').unwrap_or(&inner), text);
        }
    }
}
