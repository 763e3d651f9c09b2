//! Names in XML.

use crate::text::escape;

/// A text that can stand between tags and in attributes. XML has no way to write control characters, so they are
/// shown as what they are, and two characters that Unicode does not define as a replacement character.
pub(super) fn xml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in escape(text).chars() {
        match char {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            '\u{fffe}' | '\u{ffff}' => safe.push(char::REPLACEMENT_CHARACTER),
            char => safe.push(char),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Check that what XML would act on is written as what it is.
    #[test]
    fn markup_is_escaped() {
        assert_eq!(xml("std::vector<char>&\n\"'"), "std::vector&lt;char&gt;&amp;\\u{a}&quot;&apos;");
    }

    proptest! {
        /// Check that no text, once escaped, holds a character that XML does not allow, or one that ends what it is in.
        #[test]
        fn texts_are_allowed(text in any::<String>()) {
            let is_refused = |c: char| c.is_control() || ['<', '>', '"', '\'', '\u{fffe}', '\u{ffff}'].contains(&c);
            let refused: String = xml(&text).chars().filter(|&c| is_refused(c)).collect();
            prop_assert_eq!(refused, "");
        }
    }
}
