//! A text of the viewer, as lines of styled pieces.
//!
//! The viewer's texts mark pieces by terminal escape sequences. Everything from a capture has been sanitised before,
//! so all sequences left are the viewer's own.

use report::text::{Line, Role};

/// A page of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Document {
    /// The lines, from top to bottom.
    pub(crate) lines: Vec<Line>,
}

impl Document {
    /// Parses a text that the viewer wrote.
    pub(crate) fn of(text: &str) -> Self {
        let mut role = Role::Plain;
        Self { lines: text.lines().map(|line| pieces(line, &mut role)).collect() }
    }

    /// The text without roles.
    pub(crate) fn plain(&self) -> String {
        let line = |line: &Line| line.iter().map(|(_, text)| text.as_str()).collect::<String>();
        self.lines.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

fn pieces(line: &str, role: &mut Role) -> Line {
    let mut pieces = Line::new();
    let mut push = |role: Role, text: &str| {
        if !text.is_empty() {
            pieces.push((role, text.to_owned()));
        }
    };
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        push(*role, before);
        let Some((code, after)) = after.split_once('m') else { return pieces };
        *role = match code {
            "1" => Role::Heading,
            "33" => Role::Value,
            "36" => Role::Function,
            "2" => Role::Detail,
            "31" => Role::Warning,
            _ => Role::Plain,
        };
        rest = after;
    }
    push(*role, rest);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that pieces get the role that the viewer gave them, and that only the text remains.
    #[test]
    fn pieces_have_roles() {
        let document = Document::of("\u{1b}[1mapp\u{1b}[0m: \u{1b}[33m12 B\u{1b}[0m\n\nplain");
        let expected: Vec<Line> = vec![
            vec![
                (Role::Heading, "app".to_owned()),
                (Role::Plain, ": ".to_owned()),
                (Role::Value, "12 B".to_owned()),
            ],
            vec![],
            vec![(Role::Plain, "plain".to_owned())],
        ];
        assert_eq!(document.lines, expected);
        assert_eq!(document.plain(), "app: 12 B\n\nplain");
    }

    /// Check that an unterminated sequence ends the line, and nothing else.
    #[test]
    fn sequences_without_end_are_dropped() {
        assert_eq!(Document::of("a\u{1b}[1\nb").plain(), "a\nb");
    }
}
