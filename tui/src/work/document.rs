//! A text of the viewer, as lines of styled pieces.
//!
//! The viewer's texts mark pieces by terminal escape sequences. Everything from a capture has been sanitised before,
//! so all sequences left are the viewer's own.

/// The kind of a piece of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Nothing special.
    #[default]
    Plain,
    /// A heading.
    Heading,
    /// A number that a row is about.
    Value,
    /// A name of first interest.
    Name,
    /// A detail.
    Detail,
    /// Something to know before trusting the rest.
    Warning,
}

/// A line in pieces.
pub(crate) type Line = Vec<(Tone, String)>;

/// A page of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Document {
    /// The lines, from top to bottom.
    pub(crate) lines: Vec<Line>,
}

impl Document {
    /// Parses a text that the viewer wrote.
    pub(crate) fn of(text: &str) -> Self {
        let mut tone = Tone::Plain;
        Self { lines: text.lines().map(|line| pieces(line, &mut tone)).collect() }
    }

    /// The text without tones.
    pub(crate) fn plain(&self) -> String {
        let line = |line: &Line| line.iter().map(|(_, text)| text.as_str()).collect::<String>();
        self.lines.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

fn pieces(line: &str, tone: &mut Tone) -> Line {
    let mut pieces = Line::new();
    let mut push = |tone: Tone, text: &str| {
        if !text.is_empty() {
            pieces.push((tone, text.to_owned()));
        }
    };
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        push(*tone, before);
        let Some((code, after)) = after.split_once('m') else { return pieces };
        *tone = match code {
            "1" => Tone::Heading,
            "33" => Tone::Value,
            "36" => Tone::Name,
            "2" => Tone::Detail,
            "31" => Tone::Warning,
            _ => Tone::Plain,
        };
        rest = after;
    }
    push(*tone, rest);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that pieces get the tone that the viewer gave them, and that only the text remains.
    #[test]
    fn pieces_have_tones() {
        let document = Document::of("\u{1b}[1mapp\u{1b}[0m: \u{1b}[33m12 B\u{1b}[0m\n\nplain");
        let expected: Vec<Line> = vec![
            vec![
                (Tone::Heading, "app".to_owned()),
                (Tone::Plain, ": ".to_owned()),
                (Tone::Value, "12 B".to_owned()),
            ],
            vec![],
            vec![(Tone::Plain, "plain".to_owned())],
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
