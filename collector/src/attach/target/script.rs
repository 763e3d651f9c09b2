//! What the first bytes of an executable file show: ELF, a script, or a text.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Bytes that Linux examines (`BINPRM_BUF_SIZE`).
const LOOKED_AT: u64 = 256;

/// Runs texts without `#!` (`_PATH_BSHELL`).
pub(crate) const SHELL: &str = "/bin/sh";

/// Kinds of files by their first 256 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FirstBytes {
    /// It is empty.
    Empty,
    /// Begins with the ELF magic.
    Elf,
    /// Begins with `#!` and this interpreter.
    Script(PathBuf),
    /// Could be a shell script: no NUL byte in its first line.
    Text,
    /// Anything else.
    Unknown,
}

/// Reads and classifies the beginning of a file; leaves the file positioned after it.
pub(super) fn first_bytes(file: impl Read) -> io::Result<FirstBytes> {
    let mut bytes = Vec::new();
    file.take(LOOKED_AT).read_to_end(&mut bytes)?;
    Ok(judge(&bytes))
}

fn judge(bytes: &[u8]) -> FirstBytes {
    if bytes.is_empty() {
        return FirstBytes::Empty;
    }
    if bytes.starts_with(b"\x7fELF") {
        return FirstBytes::Elf;
    }
    let first_line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if let Some(line) = first_line.strip_prefix(b"#!") {
        let whole = first_line.len() < bytes.len() || (bytes.len() as u64) < LOOKED_AT;
        match interpreter(line, whole) {
            Some(path) => return FirstBytes::Script(path),
            // The kernel returns ENOEXEC, so execvp continues as with any text.
            None => return FirstBytes::Text,
        }
    }
    // The rule of bash and POSIX shells after ENOEXEC: a NUL byte in the first line means binary.
    if first_line.contains(&0) { FirstBytes::Unknown } else { FirstBytes::Text }
}

/// The interpreter named after `#!`, as Linux's `load_script` reads it: spaces and tabs around it are skipped, it
/// ends at a space, tab or NUL, and a name that may be cut off by the end of the examined bytes does not count.
fn interpreter(line: &[u8], whole: bool) -> Option<PathBuf> {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = line.iter().position(|byte| !blank(byte))?;
    let line = &line[start..];
    let end = line.iter().position(|byte| blank(byte) || *byte == 0);
    let name = match end {
        Some(end) => &line[..end],
        None if whole => line,
        None => return None,
    };
    (!name.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Check that an interpreter is found between any blanks and arguments, and that no bytes cause a panic.
        #[test]
        fn interpreter_is_found_among_blanks(
            path in "/[a-z/]{1,40}", before in "[ \t]{0,5}", after in "([ \t][a-z -]{0,20})?", odd in any::<Vec<u8>>(),
        ) {
            let line = format!("#!{before}{path}{after}\n");
            prop_assert_eq!(judge(line.as_bytes()), FirstBytes::Script(PathBuf::from(path)));
            judge(&odd);
            judge(&[b"#!".as_slice(), &odd].concat());
        }
    }

    /// Check that the kernel's rules for `#!` lines, and the shells' for everything else, are followed.
    #[test]
    fn first_bytes_are_judged_like_the_kernel_does() {
        let script = |path: &str| FirstBytes::Script(PathBuf::from(path));
        let long = |length: usize| [b"#!/", "x".repeat(length).as_bytes()].concat();
        let cases: &[(&[u8], FirstBytes)] = &[
            (b"", FirstBytes::Empty),
            (b"\x7fELF", FirstBytes::Elf),
            (b"\x7fEL", FirstBytes::Text),
            (b"#!/bin/sh\necho\n", script("/bin/sh")),
            (b"#! \t /bin/sh\t-eu\n", script("/bin/sh")),
            (b"#!/usr/bin/env python3", script("/usr/bin/env")),
            (b"#!relative/sh\n", script("relative/sh")),
            (b"#!/bin/sh\0rest\n", script("/bin/sh")),
            (b"#!\n", FirstBytes::Text),
            (b"#!   \t\n/bin/sh", FirstBytes::Text),
            (b"echo hello\n\0\0", FirstBytes::Text),
            (b"# a remark\n", FirstBytes::Text),
            (b"\x89PNG\r\x1a\0\0\n", FirstBytes::Unknown),
            (b"\0", FirstBytes::Unknown),
            (&long(252), script(&format!("/{}", "x".repeat(252)))),
            (&long(253), FirstBytes::Text),
        ];
        for (bytes, expected) in cases {
            assert_eq!(first_bytes(*bytes).unwrap(), *expected, "{}", bytes.escape_ascii());
        }
    }
}
