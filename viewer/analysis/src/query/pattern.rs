//! Names with the wildcards `*` and `?`.
//!
//! The user's patterns match whole words of a function's name, so that nobody needs to know its namespaces, class,
//! parameters and generic arguments:
//!
//! ```text
//!  QueryCache     docproc::QueryCache::insert     both ends are edges of words
//!  Query          docproc::QueryCache::insert     not found: QueryCache is one word
//!  Query*         docproc::QueryCache::insert     * matches any characters
//!  cache::insert  docproc::cache::insert          several words
//! ```

use crate::names::table::{Kind, Label};
use std::fmt;
use std::str::FromStr;

/// A pattern for names: `*` for any characters and `?` for one.
///
/// ```
/// # use analysis::query::Pattern;
/// assert!(Pattern::glob("parse_*").matches("parse_line"));
/// assert!(Pattern::glob(r"operator\*").matches("operator*"));
/// assert!(!Pattern::literal("parse_*").matches("parse_line"));
/// assert!(Pattern::words("QueryCache").is_in("docproc::QueryCache::insert"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// As it was written.
    text: String,
    /// What a whole name must be.
    whole: Vec<Part>,
    /// The same within a name, between edges of words; none if only whole names match.
    within: Option<Vec<Part>>,
}

/// A step of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Letter(char),
    One,
    Any,
    /// Where a word begins or ends, without any character.
    Edge,
}

impl Pattern {
    /// Matches exactly this name.
    pub fn literal(text: &str) -> Self {
        Self { text: text.to_owned(), whole: text.chars().map(Part::Letter).collect(), within: None }
    }

    /// Matches whole names, with `*` and `?`; a backslash makes the next character literal.
    pub fn glob(text: &str) -> Self {
        let mut letters = text.chars();
        let mut whole = Vec::new();
        while let Some(letter) = letters.next() {
            whole.push(match letter {
                '*' => Part::Any,
                '?' => Part::One,
                '\\' => Part::Letter(letters.next().unwrap_or('\\')),
                letter => Part::Letter(letter),
            });
        }
        Self { text: text.to_owned(), whole, within: None }
    }

    /// The same, and whole words of a function's name: what users write.
    pub fn words(text: &str) -> Self {
        let glob = Self::glob(text);
        let parts = glob.whole.iter().copied();
        let within = [Part::Any, Part::Edge].into_iter().chain(parts).chain([Part::Edge, Part::Any]);
        Self { within: Some(within.collect()), ..glob }
    }

    /// As in `LeakSanitizer`: matches a part of the name, with `*` for any characters, `^` for its beginning and `$`
    /// for its end.
    pub fn part_of_name(text: &str) -> Self {
        let (start, inner) = text.strip_prefix('^').map_or((Some(Part::Any), text), |rest| (None, rest));
        let (end, inner) = inner.strip_suffix('$').map_or((Some(Part::Any), inner), |rest| (None, rest));
        let inner = inner.chars().map(|letter| if letter == '*' { Part::Any } else { Part::Letter(letter) });
        let whole = start.into_iter().chain(inner).chain(end).collect();
        Self { text: text.to_owned(), whole, within: None }
    }

    /// True when it matches the name of a function: the full one as a whole, or the short one.
    pub fn names(&self, label: &Label) -> bool {
        let short = label.short_base();
        let has_words = matches!(label.kind, Kind::Function(..));
        self.matches(label.base()) || if has_words { self.is_in(&short) } else { self.matches(&short) }
    }

    /// True when it matches a file: its path, or the last components of it, with or without the version after `.so`.
    pub fn names_file(&self, path: &str) -> bool {
        let depth = self.whole.iter().filter(|part| **part == Part::Letter('/')).count();
        let tail = path.rmatch_indices('/').nth(depth).map(|(at, _)| &path[at + 1..]);
        let is_it = |path: &str| {
            let versions = path.match_indices('.').filter(|&(at, _)| is_version(&path[at..]));
            self.matches(path) || versions.into_iter().any(|(at, _)| self.matches(&path[..at]))
        };
        is_it(path) || tail.is_some_and(is_it)
    }

    /// True when it matches the text, or words in it.
    pub fn is_in(&self, text: &str) -> bool {
        matches(self.within.as_ref().unwrap_or(&self.whole), text)
    }

    /// True when it matches the whole text.
    pub fn matches(&self, text: &str) -> bool {
        matches(&self.whole, text)
    }
}

/// True for a version such as `.6` of `libstdc++.so.6`, with anything that follows.
fn is_version(rest: &str) -> bool {
    rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// True for what words consist of.
pub(super) fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// True when these parts make up the whole text.
// Cost: usually the length of the text; at worst times the parts of the pattern.
fn matches(parts: &[Part], text: &str) -> bool {
    let mut rest = text.chars();
    let mut at = 0;
    // The last `*`, and the text after what it has matched so far.
    let mut any: Option<(usize, std::str::Chars<'_>)> = None;
    loop {
        let mut next = rest.clone();
        match (parts.get(at), next.next()) {
            (Some(Part::Any), _) => {
                any = Some((at, rest.clone()));
                at += 1;
            }
            (Some(Part::Edge), after) if is_edge(before(text, &rest), after) => at += 1,
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

/// The last character of the text before its rest.
fn before(text: &str, rest: &std::str::Chars<'_>) -> Option<char> {
    text[..text.len() - rest.as_str().len()].chars().next_back()
}

/// True between two characters, or at an end, unless both are of one word.
fn is_edge(before: Option<char>, after: Option<char>) -> bool {
    !(before.is_some_and(is_of_word) && after.is_some_and(is_of_word))
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Pattern {
    type Err = EmptyPattern;

    fn from_str(text: &str) -> Result<Self, EmptyPattern> {
        if text.is_empty() { Err(EmptyPattern) } else { Ok(Self::words(text)) }
    }
}

/// The pattern is empty, which matches no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("missing name: give words of a function's name, with * for any characters")]
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

    /// Check that words are found wherever they stand in a name, but not parts of them.
    #[test]
    fn words_are_found_in_names() {
        for (words, text, expected) in [
            ("QueryCache", "docproc::QueryCache::insert", true),
            ("QueryCache::insert", "docproc::QueryCache::insert", true),
            ("docproc", "docproc::QueryCache::insert", true),
            ("insert", "docproc::QueryCache::insert", true),
            ("Query", "docproc::QueryCache::insert", false),
            ("Cache", "docproc::QueryCache::insert", false),
            ("Query*", "docproc::QueryCache::insert", true),
            ("Query*::insert", "docproc::QueryCache::insert", true),
            ("Query*::erase", "docproc::QueryCache::insert", false),
            ("*Cache", "docproc::QueryCache::insert", true),
            ("QueryCach?", "docproc::QueryCache::insert", true),
            ("parse*", "reparse_line", false),
            ("cache_insert", "my_cache_insert", false),
            ("Foo", "Foo::~Foo", true),
            ("~Foo", "Foo::~Foo", true),
            ("String", "<alloc::string::String as core::clone::Clone>::clone", true),
            ("new", "operator new", true),
            ("operator new", "operator new", true),
            ("a::b", "a::a::b", true),
            ("é", "aé::é", true),
            ("é", "aé::éa", false),
            ("*", "a", true),
        ] {
            assert_eq!(Pattern::words(words).is_in(text), expected, "{words} {text}");
            assert!(!Pattern::glob(words).is_in(text) || Pattern::words(words).is_in(text), "{words} {text}");
        }
    }

    /// Check that files are found by path, by name and by the last folders, with and without version.
    #[test]
    fn files_are_found_by_their_last_components() {
        for (pattern, path, expected) in [
            ("libz.so", "/usr/lib/libz.so.1.2", true),
            ("libz.so.1", "/usr/lib/libz.so.1.2", true),
            ("libz*", "/usr/lib/libz.so.1.2", true),
            ("libz", "/usr/lib/libz.so.1.2", false),
            ("lib*", "/usr/lib/x/z.so", false),
            ("x/z.so", "/usr/lib/x/z.so", true),
            ("*/x/*", "/usr/lib/x/z.so", true),
            ("/usr/lib/x/z.so", "/usr/lib/x/z.so", true),
            ("/usr/*", "/usr/lib/x/z.so", true),
            ("y/z.so", "/usr/lib/x/z.so", false),
            ("parse.c", "src/parse.c", true),
            ("src/parse.c", "src/parse.c", true),
            ("parse.c", "parse.c", true),
        ] {
            assert_eq!(Pattern::glob(pattern).names_file(path), expected, "{pattern} {path}");
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

    /// Words by trying every pair of edges.
    fn slow_words(parts: &[Part], text: &[char]) -> bool {
        let edges = (0..=text.len())
            .filter(|&at| is_edge(at.checked_sub(1).map(|before| text[before]), text.get(at).copied()));
        let edges: Vec<usize> = edges.collect();
        let mut pairs = edges.iter().flat_map(|from| edges.iter().map(move |to| (*from, *to)));
        pairs.any(|(from, to)| from <= to && slow(parts, &text[from..to]))
    }

    proptest! {
        /// Check that any pattern matches what trying every split matches.
        #[test]
        fn patterns_match_as_if_tried(pattern in "[ab*?]{0,8}", text in "[ab]{0,12}") {
            let pattern = Pattern::glob(&pattern);
            let letters: Vec<char> = text.chars().collect();
            prop_assert_eq!(pattern.matches(&text), slow(&pattern.whole, &letters));
        }

        /// Check that words are found where trying every pair of edges finds them.
        #[test]
        fn words_match_as_if_tried(pattern in "[ab:*?]{0,8}", text in "[ab:]{0,12}") {
            let pattern = Pattern::words(&pattern);
            let letters: Vec<char> = text.chars().collect();
            prop_assert_eq!(pattern.is_in(&text), slow_words(&pattern.whole, &letters));
        }
    }
}
