//! Names that nothing in a capture has, and what it has instead.

use super::pattern::{Pattern, is_of_word};
use crate::names::table::{Kind, Names};
use std::collections::BTreeSet;
use std::fmt;

/// A name in a filter or a lens that matches nothing: mostly a misspelt one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmatched {
    /// What it should name: `function`, `module` …
    pub field: &'static str,
    /// The name, as it was written.
    pub name: String,
    /// Names of this kind that are there and look like it, the most similar first.
    pub nearest: Vec<String>,
}

impl Unmatched {
    /// A function's name.
    pub fn function(pattern: &Pattern, names: &Names) -> Self {
        let functions = names.labels().filter(|label| matches!(label.kind, Kind::Function(..)));
        Self::new("function", pattern, functions.map(|label| label.short_base()))
    }

    /// The name of a label, of which the capture has these; the name of another group may have been meant. There are
    /// few labels: all are named where none looks like it.
    pub fn label(name: &str, there: &BTreeSet<&str>, groups: &[&str]) -> Self {
        let mut nearest = nearest(name, there.iter().chain(groups));
        if nearest.is_empty() {
            nearest = there.iter().map(|&name| name.to_owned()).collect();
        }
        Self { nearest, field: "label", name: name.to_owned() }
    }

    /// Any name, of which the capture has these.
    pub(super) fn new(
        field: &'static str,
        pattern: &Pattern,
        there: impl Iterator<Item: AsRef<str>>,
    ) -> Self {
        let name = pattern.to_string();
        Self { nearest: nearest(&name, there), field, name }
    }
}

impl fmt::Display for Unmatched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the capture has no {} `{}`", self.field, self.name)?;
        match self.nearest.as_slice() {
            [] => f.write_str("; * matches any characters"),
            nearest => write!(f, "; the nearest: {}", nearest.join(", ")),
        }
    }
}

/// The few names that look most like one: those that contain it in any case, then those with a word, or as many words
/// in a row, that differs by a few letters or ends otherwise.
pub fn nearest(sought: &str, names: impl Iterator<Item: AsRef<str>>) -> Vec<String> {
    const NAMED: usize = 3;
    let sought = sought.replace(['*', '?', '"', '\\'], "").to_lowercase();
    let words = words(&sought);
    if words.is_empty() {
        return Vec::new();
    }
    let joined = words.join(" ");
    let most = joined.chars().count() / 3;
    let mut found = Vec::new();
    for name in names {
        let name = name.as_ref();
        let lower = name.to_lowercase();
        let of_name = self::words(&lower);
        let runs = of_name.windows(words.len()).map(|run| unlike(&joined, &run.join(" "), most));
        let distance = match lower.contains(&sought) {
            true => 0,
            false => runs.min().map_or(usize::MAX, |distance| distance.max(1)),
        };
        if distance <= most {
            found.push((distance, name.len(), name.to_owned()));
        }
    }
    found.sort();
    found.dedup();
    found.into_iter().take(NAMED).map(|(.., name)| name).collect()
}

/// How many letters differ; `most` if one continues or abbreviates the other.
fn unlike(sought: &str, name: &str, most: usize) -> usize {
    let same = sought.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
    let distance = strsim::osa_distance(sought, name);
    if same + most >= sought.chars().count() { distance.min(most) } else { distance }
}

fn words(text: &str) -> Vec<&str> {
    text.split(|letter| !is_of_word(letter)).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that a group is offered for a label that is like it, and all labels where none is.
    #[test]
    fn groups_are_offered_for_labels() {
        let there = BTreeSet::from(["host", "version"]);
        let nearest = |name| Unmatched::label(name, &there, &["module", "process"]).nearest;
        assert_eq!(nearest("modul"), ["module"]);
        assert_eq!(nearest("versoin"), ["version"]);
        assert_eq!(nearest("region"), ["host", "version"]);
    }

    /// Check which names are offered for mistyped ones, and that none is for one that looks like nothing.
    #[test]
    fn similar_names_are_offered() {
        let there =
            ["docproc::QueryCache::insert", "docproc::Reader::next", "parse_line", "parse_file", "main"];
        for (sought, expected) in [
            ("QueryCahce", &["docproc::QueryCache::insert"][..]),
            ("querycache", &["docproc::QueryCache::insert"]),
            ("Cache", &["docproc::QueryCache::insert"]),
            ("QueryCache::inset", &["docproc::QueryCache::insert"]),
            ("parse", &["parse_file", "parse_line"]),
            ("parse_lime*", &["parse_line", "parse_file"]),
            ("mian", &["main"]),
            ("main_loop", &[]),
            ("parse_lines_of", &["parse_line"]),
            ("malloc_trim", &[]),
            ("*", &[]),
        ] {
            assert_eq!(nearest(sought, there.iter()), expected, "{sought}");
        }
    }

    /// Check that no more than a few are offered, each once.
    #[test]
    fn few_are_offered() {
        let many = (0..100).map(|number| format!("parse_{}", number % 10));
        assert_eq!(nearest("parse", many), ["parse_0", "parse_1", "parse_2"]);
    }
}
