//! Matching brackets.

/// Length of the group that begins `text`, whose first character is an opening bracket: up to the matching closing
/// bracket. None if there is no match: a compiler would not have produced that name.
///
/// Within round and square brackets, `<` and `>` may be comparisons: a closing round bracket closes any of these that
/// are still open inside it.
pub(super) fn group(text: &str) -> Option<usize> {
    let mut open = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if let Some(length) = operator(text, at) {
            at += length;
            continue;
        }
        match bytes[at] {
            b'-' if bytes.get(at + 1) == Some(&b'>') => at += 1,
            opening @ (b'<' | b'(' | b'[' | b'{') => open.push(opening),
            b'>' if open.last() == Some(&b'<') => drop(open.pop()),
            b')' => close(&mut open, b'('),
            b']' => close(&mut open, b'['),
            b'}' => close(&mut open, b'{'),
            _ => {}
        }
        at += 1;
        if open.is_empty() {
            return Some(at);
        }
    }
    None
}

fn close(open: &mut Vec<u8>, opening: u8) {
    while open.last() == Some(&b'<') {
        open.pop();
    }
    if open.last() == Some(&opening) {
        open.pop();
    }
}

/// Length of an operator's name, such as `operator<<`, that begins at `at`; none if none does.
pub(super) fn operator(text: &str, at: usize) -> Option<usize> {
    const WORD: &str = "operator";
    const SYMBOLS: [&str; 15] = [
        "()",
        "[]",
        "<=>",
        "<<=",
        ">>=",
        "<<",
        ">>",
        "<=",
        ">=",
        "->*",
        "->",
        "<",
        ">",
        " new[]",
        " delete[]",
    ];
    let symbol = text.as_bytes()[at..].strip_prefix(WORD.as_bytes())?;
    if text[..at].ends_with(is_identifier)
        || symbol.first().is_some_and(|&next| is_identifier(char::from(next)))
    {
        return None;
    }
    let length =
        SYMBOLS.iter().find(|known| symbol.starts_with(known.as_bytes())).map_or(0, |known| known.len());
    Some(WORD.len() + length)
}

/// True for the characters of identifiers.
pub(super) fn is_identifier(char: char) -> bool {
    char.is_alphanumeric() || char == '_' || char == '$'
}

#[cfg(test)]
mod tests {
    use crate::names::short_name::brackets::*;

    /// Check where groups end, whatever they contain.
    #[test]
    fn groups_end_at_their_bracket() {
        for (text, expected) in [
            ("<a>b", "<a>"),
            ("<a<b> >::c", "<a<b> >"),
            ("<fn() -> a>b", "<fn() -> a>"),
            ("<((a)>(b))>c", "<((a)>(b))>"),
            ("((a)<(b))c", "((a)<(b))"),
            ("<&A::operator> >b", "<&A::operator> >"),
            ("<&A::operator<< >b", "<&A::operator<< >"),
            ("(a]b)c", "(a]b)"),
            ("<a", ""),
            ("(<a>", ""),
            ("<(a>", ""),
            ("<{a>b}>c", "<{a>b}>"),
            ("<é>b", "<é>"),
        ] {
            assert_eq!(&text[..group(text).unwrap_or(0)], expected, "{text}");
        }
    }
}
