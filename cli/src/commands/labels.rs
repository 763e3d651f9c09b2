//! Labels of metrics and pushed profiles, from names and values that anybody may have chosen.

use std::collections::BTreeSet;

/// Most labels besides our own, and the most characters of a name or value.
const MOST: usize = 16;
const LONGEST: usize = 128;

/// Names and values that a scraper accepts, each name once.
pub(in crate::commands) type Labels = Vec<(String, String)>;

/// A value, cut where it is too long.
pub(in crate::commands) fn value(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Labels of a recording: `host.name` becomes `host_name`. Those that would be one of `ours` are left out.
pub(in crate::commands) fn of(labels: &[(String, String)], ours: &[&str]) -> Labels {
    let mut names: BTreeSet<String> = ours.iter().map(|name| (*name).to_owned()).collect();
    let labels = labels.iter().map(|(name, text)| (self::name(name), value(text)));
    labels.filter(|(name, _)| names.insert(name.clone())).take(MOST).collect()
}

fn name(text: &str) -> String {
    let is_good = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let name: String =
        text.chars().take(LONGEST).map(|letter| if is_good(letter) { letter } else { '_' }).collect();
    // Names that begin with two are the scraper's own.
    let name = name.trim_start_matches('_');
    match name.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        true => name.to_owned(),
        false => format!("label_{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Check that names become those that scrapers accept, and that none stands twice or in our place.
    #[test]
    fn names_are_made_good() {
        let labels = [
            ("host.name", "a"),
            ("host-name", "b"),
            ("pid", "1"),
            ("__x", "c"),
            ("7", "d"),
            ("", "e"),
            ("ä", "f"),
        ];
        let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let found = of(&labels, &["pid"]);
        let found: Vec<(&str, &str)> =
            found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, [("host_name", "a"), ("x", "c"), ("label_7", "d"), ("label_", "e")]);
    }

    proptest! {
        /// Check that whatever labels there are, they are few, short and valid.
        #[test]
        fn labels_are_bounded(labels in prop::collection::vec((".{0,300}", ".{0,300}"), 0..40)) {
            let found = of(&labels, &["pid", "comm"]);
            prop_assert!(found.len() <= MOST);
            for (name, value) in &found {
                prop_assert!(name.len() <= LONGEST + 8 && value.chars().count() <= LONGEST + 1);
                prop_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
                prop_assert!(name.starts_with(|letter: char| letter.is_ascii_alphabetic()));
            }
        }
    }
}
