//! The command line of a process, with arbitrary bytes and of any length.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;

/// Most bytes kept.
const LONGEST: usize = 1 << 20;
/// Overhead of each argument besides its bytes.
const EACH: usize = 8;
/// More trailing empty arguments than this are not arguments: a program that writes a title over its arguments fills
/// the rest with zeros.
const TITLE: usize = 16;

/// The command line of a process; empty if it cannot be read.
pub(crate) fn read(pid: u32) -> Vec<String> {
    let Ok(file) = File::open(format!("/proc/{pid}/cmdline")) else { return Vec::new() };
    let mut bytes = Vec::new();
    let read = file.take(LONGEST as u64).read_to_end(&mut bytes);
    if read.is_ok() { split(&bytes) } else { Vec::new() }
}

/// The part of a command's words that is kept.
pub(crate) fn kept(words: &[OsString]) -> Vec<String> {
    texts(words.iter().map(|word| word.as_bytes()))
}

fn split(bytes: &[u8]) -> Vec<String> {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let (words, rest) = bytes.split_at(end);
    // Each argument ends with a zero, including the last that is not empty.
    let bytes = match rest.len() {
        0 => words,
        1..=TITLE => &bytes[..bytes.len() - 1],
        _ => words,
    };
    if bytes.is_empty() { Vec::new() } else { texts(bytes.split(|byte| *byte == 0)) }
}

/// As many words as there is room for, the last one cut.
fn texts<'a>(words: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    let mut room = LONGEST;
    let mut texts = Vec::new();
    for word in words {
        let Some(left) = room.checked_sub(EACH) else { break };
        let mut text = String::from_utf8_lossy(&word[..word.len().min(left)]).into_owned();
        text.truncate(text.floor_char_boundary(left));
        room = left - text.len();
        texts.push(text);
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that all arguments are kept, including empty ones and ones that are not text, and that the zeros behind
    /// a title are not arguments.
    #[test]
    fn arguments_are_kept() {
        let title = [&b"x: main"[..], &[0; 100]].concat();
        for (bytes, expected) in [
            (&b""[..], &[][..]),
            (b"a\0", &["a"]),
            (b"a\0b", &["a", "b"]),
            (b"a\0\0b c\0", &["a", "", "b c"]),
            (b"a\0\0", &["a", ""]),
            (b"a\xFF\0b\0", &["a\u{fffd}", "b"]),
            (&title, &["x: main"]),
        ] {
            assert_eq!(split(bytes), expected, "{bytes:?}");
        }
        assert!(read(std::process::id()).first().is_some_and(|first| first.contains("collector")));
    }

    /// Check that no command line exceeds the limit, whatever its shape.
    #[test]
    fn command_lines_are_bounded() {
        for bytes in
            [vec![b'x'; 3 << 20], vec![0xFF; 3 << 20], b"\0x".repeat(3 << 20), b"ab\0".repeat(3 << 20)]
        {
            let texts = split(&bytes);
            let length: usize = texts.iter().map(|text| text.len() + EACH).sum();
            assert!((LONGEST - EACH..=LONGEST).contains(&length), "{length}");
        }
    }
}
