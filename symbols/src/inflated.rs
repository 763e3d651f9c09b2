//! Sections of debug information, inflated once and kept.
//!
//! Distributions compress debug information: libc's takes 3 MB in the file, and 9 inflated. Inflating it took half
//! the time that a short recording needed for names. So inflated sections are kept in the user's cache, and mapped
//! from there for as long as the file that they came from is unchanged. Those of browsers are too large to be kept,
//! and programs of that size do not run for a tenth of a second.
//!
//! ```text
//! CRC-32 of the rest, 4 bytes | length of the head, 4 | head: version, file, section | contents
//! ```

use crate::arena::Arena;
use crate::cache::Cache;
use crate::compression::inflate;
use crate::elf::Elf;
use crate::identity::FileIdentity;
use crate::image::Image;
use bincode::config;
use object::CompressionFormat;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// Changes whenever the same section is stored differently.
const VERSION: u32 = 1;
/// Inflated lengths of the sections that are kept: shorter ones inflate fast enough.
const KEPT: std::ops::RangeInclusive<u64> = 1 << 17..=1 << 24;

/// The sections of one file.
pub(crate) struct Inflated<'c> {
    /// The cache, and the file whose sections it keeps. None when nothing is kept.
    place: Option<(&'c Cache, FileIdentity)>,
}

impl<'c> Inflated<'c> {
    /// For this file; sections are kept if there is a cache and the file can be identified.
    pub(crate) fn new(cache: Option<&'c Cache>, file: Option<FileIdentity>) -> Inflated<'c> {
        Inflated { place: cache.zip(file) }
    }

    /// Contents of a section, as [`Elf::contents`] has them.
    pub(crate) fn contents<'a>(&self, elf: &Elf<'a>, name: &str, arena: &'a Arena) -> Option<&'a [u8]> {
        let raw = elf.raw(name)?;
        let is_kept = raw.format != CompressionFormat::None && KEPT.contains(&raw.uncompressed_size);
        let Some((cache, file)) = self.place.filter(|_| is_kept) else { return elf.contents(name, arena) };
        let head =
            bincode::serde::encode_to_vec((VERSION, file, elf.build_id(), name), config::standard()).ok()?;
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(&head);
        let key = format!("{hash:016x}");
        if let Some(image) = cache.map(&key)
            && let Some(start) = start_of_contents(image.bytes(), &head)
        {
            return arena.keep(image).get(start..);
        }
        let contents = inflate(&raw)?;
        let length = (head.len() as u32).to_le_bytes();
        let rest = [&length, &head[..], &contents].concat();
        cache.write(&key, &[&crc32fast::hash(&rest).to_le_bytes()[..], &rest].concat());
        Some(arena.keep(Image::Owned(contents)))
    }
}

/// Where the contents begin, if the file is intact and has this head.
fn start_of_contents(bytes: &[u8], head: &[u8]) -> Option<usize> {
    let (checksum, rest) = bytes.split_first_chunk()?;
    let (length, after) = rest.split_first_chunk()?;
    // The head is compared first, since it is short.
    let is_this = u32::from_le_bytes(*length) as usize == head.len() && after.starts_with(head);
    let is_whole = is_this && crc32fast::hash(rest) == u32::from_le_bytes(*checksum);
    is_whole.then(|| checksum.len() + length.len() + head.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that contents begin behind the head of an intact file, and that damaged files and files of others have
    /// none.
    #[test]
    fn files_are_whole_or_none() {
        let rest = [&4_u32.to_le_bytes()[..], b"headcontents"].concat();
        let file = [&crc32fast::hash(&rest).to_le_bytes()[..], &rest].concat();
        assert_eq!(start_of_contents(&file, b"head").map(|start| &file[start..]), Some(&b"contents"[..]));
        assert_eq!(start_of_contents(&file, b"hea"), None);
        assert_eq!(start_of_contents(&file, b"heap"), None);
        for at in 0..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 1;
            assert_eq!(start_of_contents(&damaged, b"head"), None, "byte {at}");
            assert_eq!(start_of_contents(&file[..at], b"head"), None, "cut at {at}");
        }
    }
}
