//! Makes names from a file harmless for a terminal.
//!
//! A name may contain anything that its program put there: escape sequences that recolour, clear or answer, line ends
//! that forge rows, and marks that reverse the direction of text. They are shown literally, as in `\u{1b}`.

use std::borrow::Cow;

/// Escapes everything in a text that a terminal would act on.
///
/// ```
/// # use report::text::escape;
/// assert_eq!(escape("\u{1b}[31mred"), "\\u{1b}[31mred");
/// assert_eq!(escape("Grüße"), "Grüße");
/// ```
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let escaped = text.chars().fold(String::with_capacity(text.len() + 8), |mut escaped, char| {
        if acts(char) {
            escaped.extend(char.escape_unicode());
        } else {
            escaped.push(char);
        }
        escaped
    });
    Cow::Owned(escaped)
}

/// Control characters, line and paragraph separators, and everything that changes the direction of text or is
/// invisible.
fn acts(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Columns that a text takes in a terminal.
pub fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// Cuts a text to this many columns; what was cut is replaced by `…`.
pub fn fit(text: &str, limit: usize) -> Cow<'_, str> {
    if columns(text) <= limit {
        return Cow::Borrowed(text);
    }
    let mut used = 0;
    let kept = text.chars().take_while(|char| {
        used += width(*char);
        used < limit
    });
    let mut kept: String = kept.collect();
    if limit > 0 {
        kept.push('…');
    }
    Cow::Owned(kept)
}

/// Columns of one character: none for combining marks, two for East Asian wide characters and emoji. Going by Unicode
/// blocks is good enough for names of functions; a wrong guess only shifts a column.
fn width(char: char) -> usize {
    match char {
        '\u{300}'..='\u{36f}'
        | '\u{1ab0}'..='\u{1aff}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{303e}'
        | '\u{3041}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Check that wide and combining characters are counted as they are displayed.
    #[test]
    fn columns_are_those_of_a_terminal() {
        for (text, expected) in [("", 0), ("abc", 3), ("Grüße", 5), ("e\u{301}", 1), ("関数", 4), ("한글", 4)]
        {
            assert_eq!(columns(text), expected, "{text}");
        }
    }

    /// Check that a cut text fills its columns and never exceeds them.
    #[test]
    fn texts_are_cut_to_columns() {
        for (text, limit, expected) in [
            ("abcdef", 6, "abcdef"),
            ("abcdef", 5, "abcd…"),
            ("関数名", 5, "関数…"),
            ("関数名", 4, "関…"),
            ("ab", 0, ""),
        ] {
            assert_eq!(fit(text, limit), expected, "{text} {limit}");
        }
    }

    proptest! {
        /// Check that no escaped text contains anything that a terminal acts on, and that a cut text fits.
        #[test]
        fn nothing_acts_after_escaping(text in any::<String>(), limit in 0..20_usize) {
            let escaped = escape(&text);
            prop_assert!(!escaped.contains(acts));
            prop_assert!(columns(&fit(&escaped, limit)) <= limit);
        }
    }
}
