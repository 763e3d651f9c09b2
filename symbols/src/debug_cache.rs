//! What is worked out once of a file's debug information, and kept.
//!
//! **Inflated sections.** Distributions compress debug information: libc's takes 3 MB in the file, and 9 inflated.
//! Inflating it took half the time that a short recording needed for names. Sections of browsers are too large to be
//! kept, and programs of that size do not run for a tenth of a second.
//!
//! **The survey of the whole.** Units that link-time optimization made refer to each other, so that none of them can be
//! selected, and examining all of them takes longer than a short program runs.
//!
//! Both are in the user's cache for as long as the file that they came from is unchanged; sections are mapped from there.
//!
//! ```text
//! head: version, file, what it is | contents
//! ```

use crate::arena::Arena;
use crate::cache::Cache;
use crate::compression::inflate;
use crate::elf::Elf;
use crate::identity::FileIdentity;
use crate::image::Image;
use crate::survey::Survey;
use bincode::config;
use object::CompressionFormat;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// Changes whenever the same thing is stored differently.
const VERSION: u32 = 3;
/// Inflated lengths of the sections that are kept: shorter ones inflate fast enough.
const KEPT: std::ops::RangeInclusive<u64> = 1 << 17..=1 << 24;

/// What is kept of one file.
pub(crate) struct DebugCache<'c> {
    /// The cache, and the file. None when nothing is kept.
    place: Option<(&'c Cache, FileIdentity)>,
}

/// Where something is kept.
struct Entry<'c> {
    cache: &'c Cache,
    key: String,
    head: Vec<u8>,
}

impl<'c> DebugCache<'c> {
    /// For this file; something is kept if there is a cache and the file can be identified.
    pub(crate) fn new(cache: Option<&'c Cache>, file: Option<FileIdentity>) -> DebugCache<'c> {
        DebugCache { place: cache.zip(file) }
    }

    /// Contents of a section, as [`Elf::contents`] has them.
    pub(crate) fn contents<'a>(&self, elf: &Elf<'a>, name: &str, arena: &'a Arena) -> Option<&'a [u8]> {
        let raw = elf.raw(name)?;
        let is_kept = raw.format != CompressionFormat::None && KEPT.contains(&raw.uncompressed_size);
        let Some(entry) = self.entry(elf, name).filter(|_| is_kept) else { return elf.contents(name, arena) };
        if let Some((image, start)) = entry.read() {
            return arena.keep(image).get(start..);
        }
        let contents = inflate(&raw)?;
        entry.write(&contents);
        Some(arena.keep(Image::Owned(contents)))
    }

    /// The result of a survey of the whole file, if there was one: none inside if it may not be used.
    pub(crate) fn survey(&self, elf: &Elf<'_>) -> Option<Option<Survey>> {
        let (image, start) = self.entry(elf, SURVEY)?.read()?;
        let (survey, _) =
            bincode::serde::decode_from_slice(image.bytes().get(start..)?, config::standard()).ok()?;
        Some(survey)
    }

    /// Keeps the result of a survey.
    pub(crate) fn keep_survey(&self, elf: &Elf<'_>, survey: Option<&Survey>) {
        if let Some(entry) = self.entry(elf, SURVEY)
            && let Ok(contents) = bincode::serde::encode_to_vec(survey, config::standard())
        {
            entry.write(&contents);
        }
    }

    fn entry(&self, elf: &Elf<'_>, what: &str) -> Option<Entry<'c>> {
        let (cache, file) = self.place?;
        let head =
            bincode::serde::encode_to_vec((VERSION, file, elf.build_id(), what), config::standard()).ok()?;
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(&head);
        Some(Entry { cache, key: format!("{hash:016x}"), head })
    }
}

/// No section has this name.
const SURVEY: &str = "survey";

impl Entry<'_> {
    /// What is kept, and where in it the contents begin.
    fn read(&self) -> Option<(Image, usize)> {
        let (image, head) = self.cache.map(&self.key)?;
        // No head is the beginning of another one: lengths are part of them.
        let is_this = image.bytes().get(head..)?.starts_with(&self.head);
        is_this.then_some((image, head + self.head.len()))
    }

    fn write(&self, contents: &[u8]) {
        self.cache.write(&self.key, &[&self.head, contents].concat());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Check that surveys are kept, also those that refused a file, each for the very file that it is of.
    #[test]
    fn surveys_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let stored = Cache::in_folder(folder.path());
        let (image, identity) = Image::open(Path::new("/proc/self/exe")).unwrap();
        let elf = Elf::parse(image.bytes()).unwrap();
        let cache = DebugCache::new(Some(&stored), Some(identity));
        let other = FileIdentity { changed_ns: identity.changed_ns + 1, ..identity };
        let other = DebugCache::new(Some(&stored), Some(other));
        let end = |cache: &DebugCache<'_>| {
            cache.survey(&elf).map(|survey| survey.map(|survey| (survey.discarded_end, survey.refers_far)))
        };
        assert_eq!(end(&cache), None);
        cache.keep_survey(&elf, Some(&Survey { discarded_end: 7, refers_far: true }));
        assert_eq!((end(&cache), end(&other)), (Some(Some((7, true))), None));
        other.keep_survey(&elf, None);
        assert_eq!((end(&cache), end(&other)), (Some(Some((7, true))), Some(None)));
        DebugCache::new(None, Some(identity)).keep_survey(&elf, None);
        assert_eq!(end(&cache), Some(Some((7, true))));
    }

    /// Check that contents begin behind the head of an entry, and that an entry which another one has the name of is not
    /// taken for it, also where one is called by the beginning of what the other one is.
    #[test]
    fn entries_of_others_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let stored = Cache::in_folder(folder.path());
        let (image, identity) = Image::open(Path::new("/proc/self/exe")).unwrap();
        let elf = Elf::parse(image.bytes()).unwrap();
        let cache = DebugCache::new(Some(&stored), Some(identity));
        let named = |what| Entry { key: "name".to_owned(), ..cache.entry(&elf, what).unwrap() };
        named("head").write(b"contents");
        let (image, start) = named("head").read().unwrap();
        assert_eq!(image.bytes().get(start..), Some(&b"contents"[..]));
        for other in ["hea", "heap", "headc", ""] {
            assert!(named(other).read().is_none(), "{other}");
        }
    }
}
