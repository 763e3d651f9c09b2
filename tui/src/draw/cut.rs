//! Cuts lines that are wider than the screen. Numbers are never cut: a part of a number is another number.
//!
//! ```text
//!  whole      92.8 KiB in 1,234 blocks       92.8 KiB in 1,234 blocks       92.8 KiB in 1,234 blocks
//!  columns    16                             20                             6
//!  shown      92.8 KiB in …                  92.8 KiB in 1,234 b…           …
//! ```

use report::text::{columns, fit};
use std::ops::Range;

/// Longest unit: `KiB`, `min`. Longer words are recognised by their beginning.
const UNIT: usize = 3;

/// As much of a line as fits into this many columns, with `…` for the rest. Words with digits are shown whole or not
/// at all, and a number only with its unit.
pub(super) fn cut(line: &str, limit: usize) -> String {
    if columns(line) <= limit {
        return line.to_owned();
    }
    let kept = fit(line, limit).trim_end_matches('…').len();
    format!("{}…", &line[..whole(line, kept)])
}

/// The columns of numbers that end before column `limit`.
pub(super) fn before(numbers: &str, limit: u16) -> &str {
    let end = numbers.char_indices().nth(limit.into()).map_or(numbers.len(), |(at, _)| at);
    &numbers[..whole(numbers, end)]
}

/// The end of a line of which `kept` bytes would be kept, moved back so that it cuts no number.
fn whole(line: &str, mut kept: usize) -> usize {
    let words = words(line);
    let is_number = |word: &Range<usize>| line[word.clone()].contains(|letter: char| letter.is_ascii_digit());
    for (place, word) in words.iter().enumerate().rev() {
        if word.end <= kept {
            break;
        }
        if is_number(word) {
            kept = kept.min(word.start);
        }
        // One space is within a cell, two are between cells.
        let before = place.checked_sub(1).map(|place| &words[place]);
        let is_unit = line[word.clone()].starts_with(|first: char| first.is_alphabetic() || first == '%');
        let counted = before.filter(|before| is_unit && is_number(before) && before.end + 1 == word.start);
        let is_unknown = kept <= word.start || line[word.clone()].chars().count() <= UNIT;
        if let Some(number) = counted.filter(|_| is_unknown) {
            kept = kept.min(number.start);
        }
    }
    kept
}

/// The part of a line after its first `hidden` letters; a word with digits that begins before it is left blank.
pub(super) fn behind(line: &str, hidden: usize) -> String {
    let Some((start, _)) = line.char_indices().nth(hidden).filter(|_| hidden > 0) else {
        return if hidden == 0 { line.to_owned() } else { String::new() };
    };
    let begun = words(line).into_iter().find(|word| word.start < start && start < word.end);
    let blank = begun.filter(|word| line[word.clone()].contains(|letter: char| letter.is_ascii_digit()));
    let end = blank.map_or(start, |word| word.end);
    let spaces = " ".repeat(columns(&line[start..end]));
    spaces + &line[end..]
}

/// Where the words of a line are.
fn words(line: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    for (at, letter) in line.char_indices().filter(|(_, letter)| *letter != ' ') {
        let end = at + letter.len_utf8();
        match words.last_mut() {
            Some(word) if word.end == at => word.end = end,
            _ => words.push(at..end),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that what is shown of a line has no number that the line lacks, and none without its unit.
    #[test]
    fn numbers_are_whole_or_gone() {
        let line = "  92.8 KiB in 1,234 blocks";
        for (limit, expected) in [
            (26, line),
            (25, "  92.8 KiB in 1,234 bloc…"),
            (22, "  92.8 KiB in 1,234 b…"),
            (21, "  92.8 KiB in …"),
            (17, "  92.8 KiB in …"),
            (12, "  92.8 KiB …"),
            (11, "  92.8 KiB…"),
            (10, "  …"),
            (5, "  …"),
            (1, "…"),
        ] {
            let shown = cut(line, limit);
            assert!(columns(&shown) <= limit, "{shown}");
            assert_eq!(
                shown.trim_end_matches('…').trim_end(),
                expected.trim_end_matches('…').trim_end(),
                "{limit}"
            );
        }
        assert_eq!(cut("read_file (r.c:19) < load", 17), "read_file …");
        assert_eq!(cut("read_file (r.c:19) < load", 20), "read_file (r.c:19) …", "that is no unit");
        assert_eq!(cut("        12      1,234  thread", 20), "        12      …");
    }

    /// Check that columns which overlap with what comes next are left out, and that the others are shown.
    #[test]
    fn columns_are_whole_or_gone() {
        assert_eq!(before("  82.2 KiB   97.4 %          12", 20), "  82.2 KiB   97.4 % ");
        assert_eq!(before("1,000,000,000   97.4 %    12.0 GiB", 20), "1,000,000,000   ");
        assert_eq!(before("12 B", 20), "12 B");
    }

    /// Check that a line shifted to the left does not begin with a part of a number.
    #[test]
    fn rests_of_numbers_are_blank() {
        assert_eq!(behind("12,345 blocks", 0), "12,345 blocks");
        assert_eq!(behind("12,345 blocks", 3), "    blocks");
        assert_eq!(behind("12,345 blocks", 9), "ocks");
        assert_eq!(behind("12,345 blocks", 99), "");
    }
}
