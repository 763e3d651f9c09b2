//! Answers for the addresses of one module, kept for the next recording.
//!
//! A short recording asks for a few dozen addresses of libc, mostly the same ones each time, and inflating and
//! surveying its debug information costs more than the recording did. So the answers for modules with large tables
//! are kept in a file of the user's cache. They are trusted only while all files they came from are unchanged
//! ([`Origin`]): a binary that was stripped since has no names, and one whose debug symbols were installed since has
//! them at once.
//!
//! ```text
//! zstd of: origin, then the answers
//! ```

use crate::cache::Cache;
use crate::identity::FileIdentity;
use crate::lookup::{Lookup, SourceFrame};
use crate::reason::Reason;
use bincode::config::{Configuration, Limit, LittleEndian, Varint};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ops::RangeInclusive;

/// Changes whenever the same files would give another answer for an address, or answers are stored differently.
const VERSION: u32 = 6;
/// Most answers kept for one module, by how many the last recording asked for: reading those that nobody asks for takes
/// a short recording longer than finding its own.
const MOST_ANSWERS: RangeInclusive<usize> = 1 << 10..=1 << 13;
/// Most bytes of the answers of one module.
const MOST_BYTES: usize = 8 << 20;
/// The fastest useful level.
const LEVEL: i32 = 1;

const CONFIG: Configuration<LittleEndian, Varint, Limit<MOST_BYTES>> =
    bincode::config::standard().with_limit::<MOST_BYTES>();

/// The inputs that decide the answers of a module.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Origin {
    /// Build id of the binary.
    pub(crate) build_id: Vec<u8>,
    /// The binary and its debug files.
    pub(crate) files: Vec<FileIdentity>,
    /// Whether names are demangled.
    pub(crate) demangle: bool,
}

/// The answers of one module.
pub(crate) struct Answers<'a> {
    /// The cache, the name in it, and the origin. None when answers are not kept.
    place: Option<(&'a Cache, String, Origin)>,
    known: HashMap<u64, Lookup>,
    /// Addresses of kept answers, those asked for last first.
    kept: Vec<u64>,
    is_changed: bool,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    origin: Origin,
    answers: Vec<Answer>,
}

#[derive(Serialize, Deserialize)]
struct Answer {
    address: u64,
    /// The last frame has no name, because no symbol covers the address.
    is_nameless: bool,
    linkage: Option<String>,
    start: Option<u64>,
    frames: Vec<SourceFrame>,
}

impl<'a> Answers<'a> {
    /// Answers that are not kept.
    pub(crate) fn none() -> Answers<'a> {
        Answers { place: None, known: HashMap::new(), kept: Vec::new(), is_changed: false }
    }

    /// The answers kept for this origin.
    pub(crate) fn of(cache: &'a Cache, origin: Origin) -> Answers<'a> {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one((VERSION, &origin));
        let name = format!("{hash:016x}");
        let known =
            cache.read(&name, MOST_BYTES).and_then(|bytes| unpack(&bytes, &origin)).unwrap_or_default();
        let kept = known.iter().map(|(address, _)| *address).collect();
        let place = Some((cache, name, origin));
        Answers { place, known: known.into_iter().collect(), kept, is_changed: false }
    }

    /// The known answer for an address.
    pub(crate) fn find(&self, address: u64) -> Option<&Lookup> {
        self.known.get(&address)
    }

    /// Adds an answer, if it depends on the origin alone.
    pub(crate) fn add(&mut self, address: u64, lookup: &Lookup) {
        let is_lasting = matches!(lookup.reason, None | Some(Reason::NoSymbolHere));
        if self.place.is_some() && is_lasting {
            self.known.insert(address, lookup.clone());
            self.is_changed = true;
        }
    }

    /// Stores the answers, if there are new ones: those that were asked for, and as much as there is room for of those
    /// that earlier recordings asked for. If that fails, the next recording takes as long as this one.
    pub(crate) fn keep(self, asked: &[u64]) {
        let Answers { place: Some((cache, name, origin)), mut known, kept, is_changed: true } = self else {
            return;
        };
        let most = (2 * asked.len()).clamp(*MOST_ANSWERS.start(), *MOST_ANSWERS.end());
        let addresses = asked.iter().chain(&kept);
        let answers = addresses.filter_map(|address| Some((*address, known.remove(address)?)));
        if let Some(bytes) = pack(origin, answers.take(most)) {
            cache.write(&name, &bytes);
        }
    }
}

/// The bytes of a file; none when there would be too many.
fn pack(origin: Origin, known: impl IntoIterator<Item = (u64, Lookup)>) -> Option<Vec<u8>> {
    let answers = known
        .into_iter()
        .map(|(address, lookup)| Answer {
            address,
            is_nameless: lookup.reason.is_some(),
            linkage: lookup.linkage,
            start: lookup.start,
            frames: lookup.frames,
        })
        .collect();
    let plain = bincode::serde::encode_to_vec(Stored { version: VERSION, origin, answers }, CONFIG).ok()?;
    let packed = zstd::bulk::compress(&plain, LEVEL).ok()?;
    (plain.len() <= MOST_BYTES).then_some(packed)
}

/// The answers in a file, if it has this origin.
fn unpack(packed: &[u8], origin: &Origin) -> Option<Vec<(u64, Lookup)>> {
    let plain = zstd::bulk::decompress(packed, MOST_BYTES).ok()?;
    let (stored, _): (Stored, _) = bincode::serde::decode_from_slice(&plain, CONFIG).ok()?;
    if stored.version != VERSION || stored.origin != *origin {
        return None;
    }
    let answers = stored.answers.into_iter().map(|answer| {
        let reason = answer.is_nameless.then_some(Reason::NoSymbolHere);
        let Answer { address, linkage, start, frames, .. } = answer;
        (address, Lookup { frames, linkage, start, reason })
    });
    Some(answers.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn origin(inode: u64) -> Origin {
        let binary = FileIdentity { device: 1, inode, modified_ns: 3, changed_ns: 4, length: 5 };
        Origin { build_id: b"id".to_vec(), files: vec![binary], demangle: true }
    }

    fn lookup(function: &str) -> Lookup {
        let inlined = SourceFrame { function: None, file: Some("a.c".into()), line: Some(7) };
        let owner = SourceFrame { function: Some(function.into()), ..SourceFrame::default() };
        Lookup { frames: vec![inlined, owner], linkage: Some(format!("_Z{function}")), ..Lookup::default() }
    }

    /// Check that answers come back as they were, with and without a name, and that answers for other reasons do not.
    #[test]
    fn answers_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(folder.path().join("cache"));
        let nameless = Lookup { start: Some(16), ..Lookup::without(Reason::NoSymbolHere) };
        let mut answers = Answers::of(&cache, origin(2));
        assert_eq!(answers.find(10), None);
        answers.add(10, &lookup("f"));
        answers.add(20, &nameless);
        answers.add(30, &Lookup::without(Reason::UnreadableElf));
        answers.keep(&[10, 20, 30]);

        let mut answers = Answers::of(&cache, origin(2));
        assert_eq!(answers.find(10), Some(&lookup("f")));
        assert_eq!(answers.find(20), Some(&nameless));
        assert_eq!(answers.find(30), None);
        answers.add(40, &lookup("g"));
        answers.keep(&[40]);
        let answers = Answers::of(&cache, origin(2));
        assert_eq!(
            [10, 40].map(|address| answers.find(address).and_then(Lookup::function)),
            [Some("f"), Some("g")]
        );
    }

    /// Check that answers are used for their origin only: each part of it counts.
    #[test]
    fn other_origins_have_other_answers() {
        let packed = pack(origin(2), [(10, lookup("f"))]).unwrap();
        assert!(unpack(&packed, &origin(2)).is_some());
        let changed = |change: fn(&mut Origin)| {
            let mut origin = origin(2);
            change(&mut origin);
            origin
        };
        for other in [
            changed(|origin| origin.build_id.push(1)),
            changed(|origin| origin.demangle = false),
            changed(|origin| origin.files.push(FileIdentity::default())),
            changed(|origin| origin.files[0].device += 1),
            changed(|origin| origin.files[0].inode += 1),
            changed(|origin| origin.files[0].modified_ns += 1),
            changed(|origin| origin.files[0].changed_ns += 1),
            changed(|origin| origin.files[0].length += 1),
        ] {
            assert!(unpack(&packed, &other).is_none(), "{other:?}");
        }
    }

    /// Check that the number of kept answers is bounded by how many are asked for, and that those nobody has asked for
    /// the longest go first.
    #[test]
    fn answers_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(folder.path());
        let (few, many) = (*MOST_ANSWERS.start() as u64, *MOST_ANSWERS.end() as u64);
        let ask = |addresses: std::ops::Range<u64>| {
            let mut answers = Answers::of(&cache, origin(2));
            let new: Vec<u64> =
                addresses.clone().filter(|address| answers.find(*address).is_none()).collect();
            new.iter().for_each(|address| answers.add(*address, &lookup("f")));
            let asked: Vec<u64> = addresses.collect();
            answers.keep(&asked);
            (asked.len() - new.len()) as u64
        };
        assert_eq!(ask(0..many + 10), 0);
        assert_eq!(ask(many - 5..many + 5), 5, "the others were too many");
        assert_eq!(
            ask(0..few),
            few - 10,
            "few are kept when few are asked for, the last ones and the first of before"
        );
        assert_eq!(ask(many + 20..many + 21), 0);
        assert_eq!(ask(many - 5..many), 0, "they had to go");
        let endless = "x".repeat(MOST_BYTES);
        assert!(pack(origin(2), [(1, lookup(&endless))]).is_none());
    }

    proptest! {
        /// Check that files of anything else give no answers.
        #[test]
        fn other_files_have_no_answers(at: prop::sample::Index, noise in prop::collection::vec(any::<u8>(), 0..200)) {
            let whole = pack(origin(2), [(10, lookup("f"))]).unwrap();
            prop_assert!(unpack(&whole[..at.index(whole.len())], &origin(2)).is_none());
            for bytes in [noise.clone(), zstd::bulk::compress(&noise, LEVEL).unwrap()] {
                prop_assert!(unpack(&bytes, &origin(2)).is_none());
            }
        }
    }
}
