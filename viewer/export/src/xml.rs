//! Names in XML.

use report::text::escape;

/// A text for XML elements and attributes. XML cannot represent control characters, so their escapes are written, and
/// U+FFFE and U+FFFF become replacement characters.
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

    /// Check that XML markup is shown literally.
    #[test]
    fn markup_is_escaped() {
        assert_eq!(xml("std::vector<char>&\n\"'"), "std::vector&lt;char&gt;&amp;\\u{a}&quot;&apos;");
    }

    proptest! {
        /// Check that no escaped text contains a character that XML forbids, or one that ends its element or
        /// attribute.
        #[test]
        fn texts_are_allowed(text in any::<String>()) {
            let is_refused = |c: char| c.is_control() || ['<', '>', '"', '\'', '\u{fffe}', '\u{ffff}'].contains(&c);
            let refused: String = xml(&text).chars().filter(|&c| is_refused(c)).collect();
            prop_assert_eq!(refused, "");
        }
    }
}
