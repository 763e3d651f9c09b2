//! What this system says about huge pages. One fault makes a whole huge page resident.

use std::fs;

const FOLDER: &str = "/sys/kernel/mm/transparent_hugepage";

/// When programs get huge pages: `always`, `madvise` or `never`; empty if unknown.
pub(super) fn when() -> String {
    let text = fs::read_to_string(format!("{FOLDER}/enabled")).unwrap_or_default();
    chosen(&text).to_owned()
}

/// Bytes of a huge page; 0 if there are none.
pub(super) fn bytes() -> u64 {
    let text = fs::read_to_string(format!("{FOLDER}/hpage_pmd_size")).unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

/// The choice in brackets, as in `always [madvise] never`.
fn chosen(text: &str) -> &str {
    text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("", |(choice, _)| choice)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that the choice is the one in brackets.
    #[test]
    fn choice_is_in_brackets() {
        let cases = [
            ("always [madvise] never\n", "madvise"),
            ("[always] madvise never", "always"),
            ("", ""),
            ("[", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(chosen(text), expected, "{text:?}");
        }
    }
}
