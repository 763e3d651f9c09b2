//! Names with the wildcards `*` and `?`.

use crate::names::table::Label;
use std::str::FromStr;

/// A pattern for names: literal, `*` for any characters and `?` for one.
///
/// ```
/// # use analysis::query::Pattern;
/// assert!(Pattern::glob("parse_*").matches("parse_line"));
/// assert!(Pattern::glob(r"operator\*").matches("operator*"));
/// assert!(!Pattern::literal("parse_*").matches("parse_line"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    parts: Vec<Part>,
}

/// A step of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Letter(char),
    One,
    Any,
}

impl Pattern {
    /// Matches exactly this name.
    pub fn literal(text: &str) -> Self {
        Self { parts: text.chars().map(Part::Letter).collect() }
    }

    /// With `*` and `?`; a backslash makes the next character literal.
    pub fn glob(text: &str) -> Self {
        let mut letters = text.chars();
        let mut parts = Vec::new();
        while let Some(letter) = letters.next() {
            parts.push(match letter {
                '*' => Part::Any,
                '?' => Part::One,
                '\\' => Part::Letter(letters.next().unwrap_or('\\')),
                letter => Part::Letter(letter),
            });
        }
        Self { parts }
    }

    /// As in `LeakSanitizer`: matches a part of the name, with `*` for any characters, `^` for its beginning and `$`
    /// for its end.
    pub fn part_of_name(text: &str) -> Self {
        let (start, text) = text.strip_prefix('^').map_or((Some(Part::Any), text), |rest| (None, rest));
        let (end, text) = text.strip_suffix('$').map_or((Some(Part::Any), text), |rest| (None, rest));
        let inner = text.chars().map(|letter| if letter == '*' { Part::Any } else { Part::Letter(letter) });
        Self { parts: start.into_iter().chain(inner).chain(end).collect() }
    }

    /// True when it matches the name of a function, full or short.
    pub fn names(&self, label: &Label) -> bool {
        self.matches(label.base()) || self.matches(&label.short_base())
    }

    /// True when it matches the whole text.
    // Cost: usually the length of the text; at worst times the parts of the pattern.
    pub fn matches(&self, text: &str) -> bool {
        let mut rest = text.chars();
        let mut at = 0;
        // The last `*`, and the text after what it has matched so far.
        let mut any: Option<(usize, std::str::Chars<'_>)> = None;
        loop {
            let mut next = rest.clone();
            match (self.parts.get(at), next.next()) {
                (Some(Part::Any), _) => {
                    any = Some((at, rest.clone()));
                    at += 1;
                }
                (Some(Part::One), Some(_)) => (rest, at) = (next, at + 1),
                (Some(Part::Letter(expected)), Some(letter)) if *expected == letter => {
                    (rest, at) = (next, at + 1);
                }
                (None, None) => return true,
                _ => {
                    let Some((place, from)) = &mut any else { return false };
                    if from.next().is_none() {
                        return false;
                    }
                    (rest, at) = (from.clone(), *place + 1);
                }
            }
        }
    }
}

impl FromStr for Pattern {
    type Err = EmptyPattern;

    fn from_str(text: &str) -> Result<Self, EmptyPattern> {
        if text.is_empty() { Err(EmptyPattern) } else { Ok(Self::glob(text)) }
    }
}

/// The pattern is empty, which matches no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("missing name: give a function, with * for any characters")]
pub struct EmptyPattern;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Check what globs match.
    #[test]
    fn globs_match_whole_names() {
        for (glob, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("*b", "abc", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("a*b*c", "a__b_b__c", true),
            ("*ab", "aab", true),
            ("é?", "éü", true),
            (r"\*", "*", true),
            (r"\*", "x", false),
            ("a\\", "a\\", true),
        ] {
            assert_eq!(Pattern::glob(glob).matches(text), expected, "{glob} {text}");
        }
    }

    /// Check that `LeakSanitizer` patterns match parts of names, and that anchors hold.
    #[test]
    fn parts_of_names_match_anywhere() {
        for (part, text, expected) in [
            ("foo", "a foo b", true),
            ("^foo", "foo b", true),
            ("^foo", "a foo", false),
            ("foo$", "a foo", true),
            ("foo$", "foo b", false),
            ("^foo$", "foo", true),
            ("f*o", "a f__o b", true),
            ("f?o", "fxo", false),
        ] {
            assert_eq!(Pattern::part_of_name(part).matches(text), expected, "{part} {text}");
        }
    }

    /// The same by trying every split.
    fn slow(parts: &[Part], text: &[char]) -> bool {
        match (parts.first(), text.first()) {
            (None, None) => true,
            (Some(Part::Any), _) => (0..=text.len()).any(|skip| slow(&parts[1..], &text[skip..])),
            (Some(Part::One), Some(_)) => slow(&parts[1..], &text[1..]),
            (Some(Part::Letter(a)), Some(b)) => a == b && slow(&parts[1..], &text[1..]),
            _ => false,
        }
    }

    proptest! {
        /// Check that any pattern matches what trying every split matches.
        #[test]
        fn patterns_match_as_if_tried(pattern in "[ab*?]{0,8}", text in "[ab]{0,12}") {
            let pattern = Pattern::glob(&pattern);
            let letters: Vec<char> = text.chars().collect();
            prop_assert_eq!(pattern.matches(&text), slow(&pattern.parts, &letters));
        }
    }
}
