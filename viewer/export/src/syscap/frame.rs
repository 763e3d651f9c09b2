//! Header and frames of the file.

use std::io::{self, Write};

/// Bytes of the file's header.
const HEADER: usize = 256;

/// Most bytes of a frame. The format permits four times as many, but then `sysprof-cli --merge` (3.46) writes past
/// its buffer.
pub(super) const LARGEST: usize = 16 << 10;

/// Most bytes of a text of variable length, so that its frame stays within the limit.
pub(super) const LONGEST_TEXT: usize = LARGEST - 1024;

/// Kinds of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// Nothing but a time.
    Timestamp = 1,
    /// The stack that a processor was executing.
    Sample = 2,
    /// A process and its command line.
    Process = 4,
    /// Definitions of counters.
    Counters = 8,
    /// Values of counters.
    Values = 9,
    /// Something that happened, with or without a duration.
    Mark = 10,
    /// A part of a file.
    FileChunk = 13,
    /// An allocation or a free.
    Allocation = 14,
}

/// The file's header.
///
/// ```text
///  0  magic  4  version 1  5  little endian  8  date, 64 bytes  72  start  80  end  88  zeros
/// ```
pub(super) fn header(unix_ns: u64, start: u64, end: u64) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..4].copy_from_slice(&0xfdca_975e_u32.to_le_bytes());
    bytes[4] = 1;
    bytes[5] = 1;
    let date = date(unix_ns / 1_000_000_000);
    // At least one zero terminates it.
    let length = date.len().min(63);
    bytes[8..8 + length].copy_from_slice(&date.as_bytes()[..length]);
    bytes[72..80].copy_from_slice(&start.to_le_bytes());
    bytes[80..88].copy_from_slice(&end.to_le_bytes());
    bytes
}

/// A frame under construction.
///
/// ```text
///  0  length u16   2  cpu i16 (-1: none)   4  pid i32   8  time i64   16  kind u8   17  zeros   24  content
/// ```
#[derive(Debug)]
pub(super) struct Frame {
    bytes: Vec<u8>,
}

impl Frame {
    pub(super) fn new(kind: Kind, pid: i32, time: u64) -> Self {
        let mut bytes = Vec::with_capacity(256);
        bytes.extend_from_slice(&[0, 0]);
        bytes.extend_from_slice(&(-1_i16).to_le_bytes());
        bytes.extend_from_slice(&pid.to_le_bytes());
        bytes.extend_from_slice(&time.to_le_bytes());
        bytes.extend_from_slice(&[kind as u8, 0, 0, 0, 0, 0, 0, 0]);
        Self { bytes }
    }

    /// The processor of the frame.
    pub(super) fn cpu(&mut self, cpu: i16) -> &mut Self {
        self.bytes[2..4].copy_from_slice(&cpu.to_le_bytes());
        self
    }

    pub(super) fn u16(&mut self, value: u16) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    pub(super) fn u32(&mut self, value: u32) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    pub(super) fn u64(&mut self, value: u64) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// A text in a field of `bytes` bytes, of which at least one is a terminating zero: what does not fit is cut off.
    pub(super) fn short_text(&mut self, text: &str, bytes: usize) -> &mut Self {
        let start = self.bytes.len();
        let length = text.floor_char_boundary(bytes - 1);
        self.raw(text[..length].replace('\0', " ").as_bytes());
        self.bytes.resize(start + bytes, 0);
        self
    }

    /// A text up to the end of the frame. Zeros in it are replaced, since they would terminate it.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.raw(text.replace('\0', " ").as_bytes()).raw(&[0])
    }

    /// Writes it, padded with zeros to a multiple of 8.
    pub(super) fn write(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let length = self.bytes.len();
        let short = u16::try_from(length).ok().filter(|_| length <= LARGEST);
        let short =
            short.ok_or_else(|| io::Error::other(format!("a frame of {length} bytes is too long")))?;
        self.bytes[..2].copy_from_slice(&short.to_le_bytes());
        out.write_all(&self.bytes)
    }
}

/// A Unix time in ISO 8601: `2026-11-21T12:00:00Z`. The calendar is Hinnant's `civil_from_days`
/// (<https://howardhinnant.github.io/date_algorithms.html>), in which years begin in March.
fn date(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check dates around the ends of months, years and leap years, and the largest one.
    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_700_000_000, "2023-11-14T22:13:20Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (u64::MAX / 1_000_000_000, "2554-07-21T23:34:33Z"),
        ] {
            assert_eq!(date(seconds), expected);
        }
    }

    /// Check a whole frame, byte by byte.
    #[test]
    fn frames_are_as_documented() {
        let mut bytes = Vec::new();
        Frame::new(Kind::Process, 7, 0x0102).text("a b").write(&mut bytes).unwrap();
        let expected = [
            32, 0, 255, 255, 7, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, b'a', b' ', b'b', 0,
            0, 0, 0, 0,
        ];
        assert_eq!(bytes, expected);
    }

    /// Check that a text that is too long for its field is cut at a character boundary.
    #[test]
    fn short_texts_fit() {
        let mut frame = Frame::new(Kind::Mark, 7, 0);
        frame.short_text("größe", 4).short_text("", 2).short_text("a\0b", 4);
        assert_eq!(frame.bytes[24..], *b"gr\0\0\0\0a b\0");
    }
}
