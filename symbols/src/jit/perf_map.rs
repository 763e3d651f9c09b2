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
use std::sync::Arc;

/// Longest name that is kept whole.
const LONGEST_NAME: usize = 1 << 16;

/// The functions of a text; malformed lines are skipped.
pub(super) fn functions(text: &[u8]) -> impl Iterator<Item = Function> {
    let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    text[..whole].split(|&byte| byte == b'\n').filter_map(function)
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
        let found: Vec<_> = functions(text).map(|f| (f.code.start, f.code.end, f.name)).collect();
        let found: Vec<_> = found.iter().map(|(start, end, name)| (*start, *end, &**name)).collect();
        assert_eq!(found, expected, "{}", text.escape_ascii());
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
    }
}
