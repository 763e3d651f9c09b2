//! Decompresses a file, whatever its compression.

use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufReader, Read};

/// Number of first bytes that identify the compression.
pub(super) const START: usize = 8;

/// The decompressed bytes of a file that begins with `start`.
pub(super) fn unpack(file: File, start: &[u8]) -> io::Result<Box<dyn Read>> {
    Ok(match start {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(BufReader::new(file))),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::stream::read::Decoder::new(file)?),
        _ => Box::new(file),
    })
}
