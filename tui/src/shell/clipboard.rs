//! The terminal's clipboard, which may be on another machine: set by the escape sequence OSC 52.

use crate::catalogue;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::io::{self, Write};

/// Longest text that terminals take, in bytes.
const MOST_BYTES: usize = 74_000;

/// The sequence that puts a text into the terminal's clipboard.
fn sequence(text: &str) -> String {
    format!("\u{1b}]52;c;{}\u{7}", STANDARD.encode(text))
}

/// Copies a text.
pub(super) fn copy(text: &str) -> io::Result<()> {
    if text.len() > MOST_BYTES {
        return Err(io::Error::other(catalogue::TOO_LONG_TO_COPY));
    }
    let mut out = io::stdout().lock();
    out.write_all(sequence(text).as_bytes())?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check the sequence, and that a text too long for terminals is refused.
    #[test]
    fn texts_are_sent_as_base64() {
        assert_eq!(sequence("a\u{1b}"), "\u{1b}]52;c;YRs=\u{7}");
        assert!(copy(&"x".repeat(MOST_BYTES + 1)).is_err());
    }
}
