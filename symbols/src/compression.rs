//! Inflates compressed sections within bounds.

use object::{CompressedData, CompressionFormat};
use std::io::Read;

/// Largest section after inflation. The largest seen in practice are the 1–2 GB of a browser's `.debug_info`.
const MOST_INFLATED: u64 = 4 << 30;
/// Deflate cannot do better than 1032:1, and no compiler's output comes near it with zstd.
const HIGHEST_RATIO: u64 = 1032;

/// The contents of a compressed section, or nothing if they are damaged or claim an impossible size.
///
/// The claimed size is only reserved, not touched, and never exceeded: a section with more data than that is damaged.
pub(crate) fn inflate(section: &CompressedData<'_>) -> Option<Vec<u8>> {
    let claimed = section.uncompressed_size;
    if claimed > MOST_INFLATED || claimed / HIGHEST_RATIO > section.data.len() as u64 {
        return None;
    }
    match section.format {
        CompressionFormat::Zlib => fill(flate2::read::ZlibDecoder::new(section.data), claimed),
        CompressionFormat::Zstandard => fill(zstd::stream::read::Decoder::new(section.data).ok()?, claimed),
        _ => None,
    }
}

fn fill(stream: impl Read, claimed: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(claimed).ok()?).ok()?;
    stream.take(claimed).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == claimed).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// Check that honest sections inflate, and that wrong sizes give nothing and take no memory.
    #[test]
    fn honest_sections_inflate_and_lies_do_not() {
        let plain: Vec<u8> = (0..100_000_u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        let length = plain.len() as u64;
        let zlib = zlib(&plain);
        let zstd = zstd::bulk::compress(&plain, 3).unwrap();
        for (format, data, uncompressed_size, honest) in [
            (CompressionFormat::Zlib, &zlib[..], length, true),
            (CompressionFormat::Zstandard, &zstd[..], length, true),
            (CompressionFormat::Zlib, &zlib[..], length + 1, false),
            (CompressionFormat::Zlib, &zlib[..], u64::MAX, false),
            (CompressionFormat::Zstandard, &zstd[..], length + 1, false),
            (CompressionFormat::Zstandard, &zstd[..], 1 << 40, false),
            (CompressionFormat::Zlib, &zlib[..zlib.len() / 2], length, false),
            (CompressionFormat::Zstandard, &zstd[..zstd.len() / 2], length, false),
            (CompressionFormat::Unknown, &zlib[..], length, false),
        ] {
            let inflated = inflate(&CompressedData { format, data, uncompressed_size });
            assert_eq!(inflated.as_deref(), honest.then_some(&plain[..]), "{format:?} {uncompressed_size}");
        }
    }
}
