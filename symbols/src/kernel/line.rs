//! A line of `/proc/kallsyms`.
//!
//! There are more than a hundred thousand of them, so each byte is looked at once, and lines of data no further than to
//! their type.

/// A line that names code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) address: u64,
    pub(super) name: &'a [u8],
    /// Empty for the kernel itself.
    pub(super) module: &'a [u8],
}

impl<'a> Line<'a> {
    /// Reads a line without its end; none for one that names data, or is malformed.
    pub(super) fn read(line: &'a [u8]) -> Option<Line<'a>> {
        let (digits, rest) = word(line);
        let (kind, rest) = word(rest);
        if !matches!(kind, b"t" | b"T" | b"w" | b"W") {
            return None;
        }
        let address = u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        let (name, rest) = word(rest);
        let module = word(rest).0;
        let module = module.strip_prefix(b"[").and_then(|word| word.strip_suffix(b"]")).unwrap_or(module);
        (!name.is_empty()).then_some(Line { address, name, module })
    }
}

/// The first word, empty if there is none, and what follows it.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    text.split_at(text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that code has address, name and module, and that data and what is no line have nothing.
    #[test]
    fn code_is_read() {
        let line = |address, name: &'static str, module: &'static str| {
            Some(Line { address, name: name.as_bytes(), module: module.as_bytes() })
        };
        for (text, expected) in [
            ("ffffffff81000000 T _stext", line(0xffff_ffff_8100_0000, "_stext", "")),
            ("ffffffffc0201000 t hook\t[nf_tables]", line(0xffff_ffff_c020_1000, "hook", "nf_tables")),
            ("10 w weak other", line(16, "weak", "other")),
            ("ffffffff81000080 D data", None),
            ("ffffffff81000080 t", None),
            ("x t name", None),
            ("", None),
        ] {
            assert_eq!(Line::read(text.as_bytes()), expected, "{text}");
        }
    }
}
