//! The text `/tmp/perf-PID.map`, in which JIT compilers report their functions.
//!
//! ```text
//!  3ef414c0 398 Builtin:Bar
//!  7f20c5a01000 2c JS:*add /srv/app.js:12:5
//!  start    size   name, up to the end of the line; both numbers are hexadecimal
//! ```
//!
//! The file may be growing, and its last line incomplete: a line counts only with its newline.

use super::code::Function;
use std::io::{self, BufRead};
use std::sync::Arc;

/// Longest name that is kept whole.
const LONGEST_NAME: usize = 1 << 16;
/// Longest line that is one: two numbers and a name.
const LONGEST_LINE: usize = LONGEST_NAME + 64;

/// Gives the functions of a text to `take` until that wants no more; malformed lines are skipped. The text is never held
/// as a whole.
pub(super) fn functions(text: &mut dyn BufRead, mut take: impl FnMut(Function) -> bool) -> io::Result<()> {
    let (mut line, mut is_too_long) = (Vec::new(), false);
    loop {
        let piece = text.fill_buf()?;
        if piece.is_empty() {
            return Ok(());
        }
        // Zeros are a hole, as where a program goes on writing to a file that somebody has emptied.
        let end = piece.iter().position(|byte| matches!(byte, b'\n' | 0));
        let more = &piece[..end.unwrap_or(piece.len())];
        is_too_long |= line.len() + more.len() > LONGEST_LINE;
        if !is_too_long {
            line.extend_from_slice(more);
        }
        let taken = more.len() + usize::from(end.is_some());
        let is_line = end.is_some_and(|end| piece[end] == b'\n');
        text.consume(taken);
        if end.is_some() {
            let function = if is_line && !is_too_long { function(&line) } else { None };
            if !function.is_none_or(&mut take) {
                return Ok(());
            }
            line.clear();
            is_too_long = false;
        }
    }
}

fn function(line: &[u8]) -> Option<Function> {
    let mut words = line.splitn(3, |&byte| byte == b' ');
    let (start, size, name) = (number(words.next()?)?, number(words.next()?)?, words.next()?);
    let name = &name[..name.len().min(LONGEST_NAME)];
    let name: Arc<str> = String::from_utf8_lossy(name).trim().into();
    (!name.is_empty()).then(|| Function { code: start..start.saturating_add(size), name, lines: Vec::new() })
}

fn number(word: &[u8]) -> Option<u64> {
    let word = str::from_utf8(word).ok()?;
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let is_number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if is_number { u64::from_str_radix(digits, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &[u8], expected: &[(u64, u64, &str)]) {
        // However it is read.
        for piece in [1, 3, 1 << 16] {
            let mut found = Vec::new();
            let take = |f: Function| {
                found.push((f.code.start, f.code.end, f.name));
                true
            };
            functions(&mut io::BufReader::with_capacity(piece, text), take).unwrap();
            let found: Vec<_> = found.iter().map(|(start, end, name)| (*start, *end, &**name)).collect();
            assert_eq!(found, expected, "{}", text.escape_ascii());
        }
    }

    /// Check lines with prefix, spaces and strange letters, and that malformed lines are skipped.
    #[test]
    fn lines_are_functions() {
        check(b"10 8 f\n0x20 0x8 JS:*g a.js:1:2\n", &[(0x10, 0x18, "f"), (0x20, 0x28, "JS:*g a.js:1:2")]);
        check(b"10 8 half a na", &[]);
        check(b"10 8 f\r\n10\n10 8\n10 8 \n+1 8 f\nzz 8 f\n-1 8 f\n", &[(0x10, 0x18, "f")]);
        check(b"ffffffffffffffff ff f\n1ffffffffffffffff 8 g\n", &[(u64::MAX, u64::MAX, "f")]);
        check(b"10 8 \xff\n", &[(0x10, 0x18, "\u{fffd}")]);
        check(b"", &[]);
        check(b"\n\n", &[]);
        check(b"10 8 f\n20 8\0\0\0\0\x0030 8 g\n\0\0", &[(0x10, 0x18, "f"), (0x30, 0x38, "g")]);
        let long = [b"10 8 ".to_vec(), vec![b'x'; LONGEST_LINE], b"\n20 8 f\n".to_vec()].concat();
        check(&long, &[(0x20, 0x28, "f")]);
    }
}
