//! Compression, as browsers undo it.

use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::{self, Write};

/// The bytes in the format that browsers call `deflate-raw`.
pub(crate) fn deflate(data: &[u8], compression: Compression) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), compression);
    encoder.write_all(data)?;
    encoder.finish()
}
