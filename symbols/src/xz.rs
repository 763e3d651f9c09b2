//! Unpacks `.xz`, as far as `.gnu_debugdata` needs it.
//!
//! ```text
//! stream   | FD 37 7A 58 5A 00 | 00 check | CRC-32 |   blocks …   | 00 index, footer: not read
//! block    | header | LZMA2 data | zeros to 4 | check of 0, 4, 8, 32 … bytes |
//! header   | size/4 - 1 | flags | [packed size] | [unpacked size] | 21 01 dictionary | zeros | CRC-32 |
//! ```
//!
//! The checksums are not verified: the unpacked contents are distrusted like any file. Filters other than LZMA2 are
//! not supported; they are for executable code, and a symbol table has none.

use lzma_rust2::Lzma2Reader;
use std::io::Read;

/// Largest result; a table with all functions of a browser takes some ten megabytes.
const MOST_UNPACKED: u64 = 256 << 20;
/// Largest dictionary, that of `xz -9`.
const LARGEST_DICTIONARY: u32 = 64 << 20;
const MAGIC: &[u8] = b"\xfd7zXZ\0\0";

/// The contents, or nothing if the stream is damaged or too large.
pub(crate) fn unpack(stream: &[u8]) -> Option<Vec<u8>> {
    let (&check, blocks) = stream.strip_prefix(MAGIC)?.split_first()?;
    let check_length = match check & 0xf {
        0 => 0,
        kind => 4 << ((kind - 1) / 3),
    };
    let start = stream.len() - blocks.len() + 4;
    let mut rest = stream.get(start..)?;
    let mut unpacked = Vec::new();
    while *rest.first()? != 0 {
        let header_length = (usize::from(rest[0]) + 1) * 4;
        let (header, data) = rest.split_at_checked(header_length)?;
        rest = data;
        let block = Lzma2Reader::new(&mut rest, dictionary(header)?, None);
        block.take(MOST_UNPACKED + 1 - unpacked.len() as u64).read_to_end(&mut unpacked).ok()?;
        if unpacked.len() as u64 > MOST_UNPACKED {
            return None;
        }
        let read = data.len() - rest.len();
        rest = data.get(read.next_multiple_of(4) + check_length..)?;
    }
    Some(unpacked)
}

/// Size of the dictionary in a block's header.
fn dictionary(header: &[u8]) -> Option<u32> {
    let (&flags, mut fields) = header.get(1..)?.split_first()?;
    for size_is_present in [flags & 0x40 != 0, flags & 0x80 != 0] {
        if size_is_present {
            let end = fields.iter().position(|byte| byte & 0x80 == 0)?;
            fields = &fields[end + 1..];
        }
    }
    let &[0x21, 1, size, ..] = fields else { return None };
    if flags & 0x3f != 0 || size > 30 {
        return None;
    }
    // 4 KiB, 6 KiB, 8 KiB, 12 KiB …
    let size = (2 | u32::from(size & 1)) << (size / 2 + 11);
    (size <= LARGEST_DICTIONARY).then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;
    use std::process::{Command, Stdio};
    use std::sync::OnceLock;

    fn plain() -> Vec<u8> {
        (0..20_000_u32).flat_map(|i| (i / 3).to_le_bytes()).collect()
    }

    fn pack(arguments: &str) -> Option<Vec<u8>> {
        let mut command = Command::new("xz");
        command.args(arguments.split_whitespace()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().ok()?;
        let mut input = child.stdin.take()?;
        let writer = std::thread::spawn(move || input.write_all(&plain()));
        let output = child.wait_with_output().ok()?;
        writer.join().ok()?.ok()?;
        Some(output.stdout)
    }

    /// Check that what xz packs is unpacked, with every kind of check, one block or several.
    #[test]
    fn what_xz_packs_is_unpacked() {
        for arguments in
            ["", "-0", "-9e", "--check=none", "--check=crc32", "--check=sha256", "-T2 --block-size=20000"]
        {
            let Some(packed) = pack(arguments) else { return println!("skipped: no xz") };
            assert!(unpack(&packed).is_some_and(|unpacked| unpacked == plain()), "xz {arguments}");
        }
    }

    /// Check that a stream cut off before its index, or bytes that are no stream, give nothing.
    #[test]
    fn what_is_no_stream_gives_nothing() {
        let Some(packed) = pack("") else { return println!("skipped: no xz") };
        for length in 0..packed.len() - 40 {
            assert_eq!(unpack(&packed[..length]), None, "cut at {length} of {}", packed.len());
        }
        for (at, byte) in [(0, 0), (12, 0xff), (13, 0x3f), (14, 0x22), (16, 41)] {
            let mut damaged = packed.clone();
            damaged[at] = byte;
            assert_eq!(unpack(&damaged), None, "byte {at}");
        }
    }

    proptest! {
        /// Check that damage anywhere is survived.
        #[test]
        fn damage_is_survived(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5)) {
            static PACKED: OnceLock<Option<Vec<u8>>> = OnceLock::new();
            let Some(mut packed) = PACKED.get_or_init(|| pack("-0")).clone() else { return Ok(()) };
            for (at, byte) in damage {
                let length = packed.len();
                packed[at.index(length)] = byte;
            }
            prop_assert!(unpack(&packed).is_none_or(|unpacked| unpacked.len() as u64 <= MOST_UNPACKED));
        }
    }
}
