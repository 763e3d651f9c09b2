//! The index that the first pass over a large capture leaves behind, so that later views, and any moment, need no
//! second one.
//!
//! ```text
//!  ┌───────┬───────┬───────┬───────────┬─────────┐
//!  │ state │ state │ state │ directory │ trailer │        states of a pass every two million events or more; the
//!  └───────┴───────┴───────┴───────────┴─────────┘        directory has the whole profile, the timeline, and the
//!                                                         place of each state
//! ```
//!
//! A moment is the last state before it plus a replay of the events in between. Trailer: offset of the directory (8
//! bytes), its length (4), its CRC-32 (4), [`MAGIC`] (8). All parts are bincode in zstd.
//!
//! It is stored in the user's cache directory, one file per capture, readable by the user alone, written under a
//! temporary name and renamed. It is not an exchange format: any other version writes its own. A file that is
//! damaged, or belongs to another capture, counts as absent; nothing is reported, since a pass gives the same answer.

mod build;
mod cache;
mod identity;
mod packed;

pub(crate) use build::Building;
pub use cache::Cache;

use analysis::{Profile, Saved, Timeline};
use identity::Identity;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The last byte is the version of everything in it: increase it when any of the structures changes.
const MAGIC: [u8; 8] = *b"MPINDEX\x0b";

const TRAILER: usize = 24;

/// Steps of the stored timeline.
pub(crate) const STEPS: usize = 2048;

/// Where a state is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Entry {
    /// Number of events before it.
    position: u64,
    offset: u64,
    length: u32,
    checksum: u32,
}

#[derive(Debug, Serialize, Deserialize)]
struct Directory {
    identity: Identity,
    whole: Profile,
    timeline: Timeline,
    entries: Vec<Entry>,
}

/// The side index of a capture.
#[derive(Debug)]
pub(crate) struct SideIndex {
    file: File,
    directory: Directory,
}

impl SideIndex {
    /// The index of a capture with this many events, if it exists and is valid.
    pub(crate) fn open(cache: &Cache, capture: &Path, events: u64) -> Option<Self> {
        let identity = Identity::of(capture)?;
        let path = cache.path(&identity).filter(|_| cache.is_for(events))?;
        let found = Self::read(File::open(&path).ok()?)?;
        if found.directory.identity != identity {
            return None;
        }
        cache.touch(&found.file);
        Some(found)
    }

    fn read(file: File) -> Option<Self> {
        let length = file.metadata().ok()?.len();
        let mut trailer = [0; TRAILER];
        file.read_exact_at(&mut trailer, length.checked_sub(TRAILER as u64)?).ok()?;
        let (words, _) = trailer.as_chunks::<4>();
        let [low, high, length, checksum, ..] = [0, 1, 2, 3].map(|word| u32::from_le_bytes(words[word]));
        if trailer[16..] != MAGIC {
            return None;
        }
        let offset = u64::from(high) << 32 | u64::from(low);
        let entry = Entry { position: 0, offset, length, checksum };
        let directory = packed::read(&file, &entry)?;
        Some(Self { file, directory })
    }

    /// The profile of the whole capture.
    pub(crate) fn whole(&self) -> &Profile {
        &self.directory.whole
    }

    /// The heap over the whole time.
    pub(crate) fn timeline(&self) -> &Timeline {
        &self.directory.timeline
    }

    /// The last state at or before a position.
    pub(crate) fn state_before(&self, position: u64) -> Option<Saved> {
        let entries = &self.directory.entries;
        let last = entries.partition_point(|entry| entry.position <= position).checked_sub(1)?;
        let saved: Saved = packed::read(&self.file, &entries[last])?;
        (saved.position() == entries[last].position).then_some(saved)
    }
}
