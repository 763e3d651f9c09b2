//! Decompresses a file, whatever its compression.

use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufReader, Read};

/// Number of first bytes that identify the compression.
pub(super) const START: usize = 4;

/// A compressed file may unpack to so many bytes, and so many more for each of its own. Recordings of real programs
/// stay far below; whoever has made one that does not can unpack it.
const UNPACKED: (u64, u64) = (64 << 20, 256);

/// The decompressed bytes of a file of this length that begins with `start`.
pub(super) fn unpack(file: File, length: u64, start: &[u8]) -> io::Result<Box<dyn Read>> {
    let left = UNPACKED.0.saturating_add(length.saturating_mul(UNPACKED.1));
    Ok(match start {
        [0x1f, 0x8b, ..] => Box::new(Bounded { input: MultiGzDecoder::new(BufReader::new(file)), left }),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            Box::new(Bounded { input: zstd::stream::read::Decoder::new(file)?, left })
        }
        _ => Box::new(file),
    })
}

/// An input that is an error when it is longer than it may be: its end must not look like that of the file.
struct Bounded<R> {
    input: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.input.read(buffer)?;
        self.left = self.left.checked_sub(length as u64).ok_or_else(|| {
            io::Error::other(
                "it unpacks to more than 256 times its length. If that is right, unpack it yourself (zstd -d, gunzip) \
                 and import the result",
            )
        })?;
        Ok(length)
    }
}
