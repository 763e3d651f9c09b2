//! What a file is, from its first bytes.

use std::fmt;

use crate::version::{BYTE_ORDER, MAGIC, VERSION, Version};

/// How many bytes from a file's beginning [`sniff`] looks at.
pub const SNIFF_LENGTH: usize = 256;

/// Kinds of files that people hand to a memory profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sniff {
    /// A capture that this version reads.
    Capture(Version),
    /// A capture of another major version.
    OtherCapture(Version),
    /// A capture in the other byte order.
    ByteSwapped,
    /// A capture of Sysprof (`.syscap`).
    Syscap,
    /// The text that heaptrack writes, uncompressed.
    Heaptrack,
    /// Compressed with gzip.
    Gzip,
    /// Compressed with zstd, as heaptrack's files are.
    Zstd,
    /// A program or shared library.
    Elf,
    /// A text that begins with `#!`.
    Script,
    /// No bytes at all.
    Empty,
    /// Anything else.
    Unknown,
}

/// Says what a file is from its first [`SNIFF_LENGTH`] bytes (fewer when it is shorter). It looks only at type and
/// version: a [`Sniff::Capture`] may still be damaged.
pub fn sniff(start: &[u8]) -> Sniff {
    let start = &start[..start.len().min(SNIFF_LENGTH)];
    match start {
        [] => Sniff::Empty,
        _ if start.starts_with(&MAGIC) => sniff_capture(&start[MAGIC.len()..]),
        [0x5e, 0x97, 0xca, 0xfd, ..] => Sniff::Syscap,
        [0x1f, 0x8b, 8, ..] => Sniff::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Sniff::Zstd,
        [0x7f, b'E', b'L', b'F', ..] => Sniff::Elf,
        [b'#', b'!', ..] => Sniff::Script,
        _ if is_heaptrack(start) => Sniff::Heaptrack,
        _ => Sniff::Unknown,
    }
}

fn sniff_capture(after_magic: &[u8]) -> Sniff {
    let Some((order, rest)) = after_magic.split_first_chunk::<4>() else { return Sniff::Unknown };
    let Some((version, _)) = rest.split_first_chunk::<4>() else { return Sniff::Unknown };
    let [major, minor] = [[version[0], version[1]], [version[2], version[3]]].map(u16::from_le_bytes);
    let version = Version { major, minor };
    if *order == BYTE_ORDER.to_be_bytes() {
        Sniff::ByteSwapped
    } else if *order != BYTE_ORDER.to_le_bytes() || major == 0 {
        Sniff::Unknown
    } else if major != VERSION.major {
        Sniff::OtherCapture(version)
    } else {
        Sniff::Capture(version)
    }
}

/// heaptrack's first line is `v VERSION FORMAT`, both hexadecimal.
fn is_heaptrack(start: &[u8]) -> bool {
    let line = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let mut words = line.split(|&byte| byte == b' ');
    let is_hex =
        |word: Option<&[u8]>| word.is_some_and(|w| !w.is_empty() && w.iter().all(u8::is_ascii_hexdigit));
    words.next() == Some(b"v") && is_hex(words.next()) && is_hex(words.next()) && words.next().is_none()
}

impl fmt::Display for Sniff {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Sniff::Capture(version) => return write!(out, "a capture of format {version}"),
            Sniff::OtherCapture(version) => return write!(out, "a capture of another format, {version}"),
            Sniff::ByteSwapped => "a capture with swapped bytes",
            Sniff::Syscap => "a Sysprof capture",
            Sniff::Heaptrack => "a heaptrack file",
            Sniff::Gzip => "a gzip-compressed file",
            Sniff::Zstd => "a zstd-compressed file (heaptrack's are)",
            Sniff::Elf => "a program or library",
            Sniff::Script => "a script",
            Sniff::Empty => "an empty file",
            Sniff::Unknown => "a file of an unknown kind",
        };
        out.write_str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn capture_start(order: u32, major: u16, minor: u16) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(order.to_le_bytes());
        bytes.extend(major.to_le_bytes());
        bytes.extend(minor.to_le_bytes());
        bytes
    }

    /// Check that each kind of file is told by its first bytes.
    #[test]
    fn kinds_are_told_apart() {
        let cases: Vec<(Vec<u8>, Sniff)> = vec![
            (capture_start(BYTE_ORDER, 2, 0), Sniff::Capture(Version { major: 2, minor: 0 })),
            (capture_start(BYTE_ORDER, 2, 10), Sniff::Capture(Version { major: 2, minor: 10 })),
            (capture_start(BYTE_ORDER, 1, 15), Sniff::OtherCapture(Version { major: 1, minor: 15 })),
            (capture_start(BYTE_ORDER, 3, 3), Sniff::OtherCapture(Version { major: 3, minor: 3 })),
            (capture_start(BYTE_ORDER.swap_bytes(), 256, 0), Sniff::ByteSwapped),
            (capture_start(BYTE_ORDER, 0, 1), Sniff::Unknown),
            (capture_start(7, 1, 0), Sniff::Unknown),
            (MAGIC.to_vec(), Sniff::Unknown),
            (vec![0x5e, 0x97, 0xca, 0xfd, 1, 1], Sniff::Syscap),
            (vec![0x1f, 0x8b, 8, 0], Sniff::Gzip),
            (vec![0x28, 0xb5, 0x2f, 0xfd], Sniff::Zstd),
            (b"\x7fELF\x02\x01".to_vec(), Sniff::Elf),
            (b"#!/bin/sh\n".to_vec(), Sniff::Script),
            (b"v 10400 2\nX ./a.out\n".to_vec(), Sniff::Heaptrack),
            (b"v x\n".to_vec(), Sniff::Unknown),
            (b"hello".to_vec(), Sniff::Unknown),
            (vec![], Sniff::Empty),
        ];
        for (bytes, expected) in cases {
            assert_eq!(sniff(&bytes), expected, "{bytes:02x?}");
        }
    }

    proptest! {
        /// Check that any bytes get an answer, the same from 256 bytes as from more.
        #[test]
        fn any_bytes_get_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let start = &bytes[..bytes.len().min(SNIFF_LENGTH)];
            prop_assert_eq!(sniff(&bytes), sniff(start));
        }
    }
}
