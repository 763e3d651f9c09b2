//! Lists of rules in the syntax of `LeakSanitizer`.
//!
//! ```text
//! # a comment
//! leak:cache_init        part of the name of a function, source file or library; * for any characters
//! leak:^main$            ^ and $ are its beginning and end
//! ```

use crate::loaded::{Origin, Rule};
use analysis::query::Pattern;

/// The line is not a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{file}:{line}: `{text}` is not a suppression: write `leak:` and a part of a name, or # before a comment"
)]
pub struct ListError {
    file: String,
    line: usize,
    text: String,
}

/// Reads a user's list.
///
/// # Errors
/// The first line that is not a rule.
pub fn parse(text: &str, file: &str) -> Result<Vec<Rule>, ListError> {
    let lines = lines(text).map(|(line, text)| {
        let origin = Origin::File { file: file.to_owned(), line };
        rule(text, origin).ok_or_else(|| ListError { file: file.to_owned(), line, text: text.to_owned() })
    });
    lines.collect()
}

/// Reads a program's own list. It may contain rules for other tools, which are ignored.
pub(super) fn parse_of_program(text: &str, program: &str) -> Vec<Rule> {
    lines(text).filter_map(|(_, text)| rule(text, Origin::Program(program.to_owned()))).collect()
}

/// Lines with content, numbered from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = (1..).zip(text.lines().map(str::trim));
    numbered.filter(|(_, text)| !text.is_empty() && !text.starts_with('#'))
}

fn rule(line: &str, origin: Origin) -> Option<Rule> {
    let text = line.strip_prefix("leak:").map(str::trim).filter(|text| !text.is_empty())?;
    Some(Rule { pattern: Pattern::part_of_name(text), text: text.to_owned(), origin })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Check what is read: rules with their line numbers, without comments and blanks.
    #[test]
    fn lists_are_read() {
        let rules = parse("# why\n\n  leak:foo \nleak:^a*b$\r\n", "list").unwrap();
        let read: Vec<(String, String)> =
            rules.iter().map(|rule| (rule.text.clone(), rule.origin.to_string())).collect();
        let expected = [("foo", "list:3"), ("^a*b$", "list:4")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(read, expected);
    }

    /// Check that a line that is not a rule is named in the error, and that a program's list may have such lines.
    #[test]
    fn other_lines_are_named() {
        for line in ["leak:", "foo", "race:foo", "leak foo"] {
            let text = format!("leak:a\n{line}\n");
            let error = parse(&text, "list").unwrap_err().to_string();
            assert!(error.starts_with(&format!("list:2: `{line}`")), "{error}");
            assert_eq!(parse_of_program(&text, "app").len(), 1);
        }
    }

    proptest! {
        /// Check that any list is read or refused without a panic, and that the error names the line.
        #[test]
        fn any_list_is_read_or_refused(text in "(leak:|#|\n|[a^$*é ]){0,20}") {
            match parse(&text, "list") {
                Ok(rules) => prop_assert!(rules.len() <= text.lines().count()),
                Err(error) => prop_assert!(error.line <= text.lines().count()),
            }
        }
    }
}
