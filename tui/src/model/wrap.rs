//! Wraps sentences into lines.

use report::text::columns;

/// The words of a text, in lines of at most `width` columns; a longer word gets a line of its own.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(word) <= width => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that lines have whole words and no more columns than there are.
    #[test]
    fn words_are_whole() {
        assert_eq!(wrapped("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrapped("a-long-word of it", 4), ["a-long-word", "of", "it"]);
        assert_eq!(wrapped("", 4), Vec::<String>::new());
    }
}
