//! Writes an index during a pass.

use super::identity::Identity;
use super::{Cache, Directory, Entry, MAGIC, packed};
use analysis::{Load, Profile, Timeline};
use capture::AtomicFile;
use serde::Serialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Each time this many bytes of states have been written, the distance between states doubles.
const GENEROUS: u64 = 256 << 20;

/// An index that is being written.
pub(crate) struct Building {
    cache: Cache,
    capture: PathBuf,
    identity: Identity,
    target: PathBuf,
    file: AtomicFile,
    offset: u64,
    entries: Vec<Entry>,
    /// A write has failed: there will be no index.
    has_failed: bool,
}

impl Building {
    /// Begins an index, if the capture is large enough and there is a place for it.
    pub(crate) fn begin(cache: &Cache, capture: &Path, events: u64) -> Option<Self> {
        let identity = Identity::of(capture).filter(|_| cache.is_for(events))?;
        let target = cache.path(&identity)?;
        cache.make()?;
        Some(Self {
            cache: cache.clone(),
            capture: capture.to_owned(),
            identity,
            file: AtomicFile::create(&target).ok()?,
            target,
            offset: 0,
            entries: Vec::new(),
            has_failed: false,
        })
    }

    /// Saves the state of a pass at this position of the capture, if that is far enough from the last saved one.
    // Cost: usually a comparison; saving takes as long as a pass over the live blocks.
    pub(crate) fn look(&mut self, load: &Load<'_, Timeline>, position: u64) {
        // Events of a later version have positions but are not counted, so the state's position would be wrong.
        self.has_failed |= load.position() != position;
        let last = self.entries.last().map_or(0, |entry| entry.position);
        let spacing = self.cache.spacing << (self.offset / GENEROUS).min(32);
        let since = load.position() - last;
        if self.has_failed || since < spacing || since < self.cache.per_block.saturating_mul(load.weight()) {
            return;
        }
        match self.part(load.position(), &load.save()) {
            Ok(entry) => self.entries.push(entry),
            Err(_) => self.has_failed = true,
        }
    }

    /// Finishes it. Errors are ignored: the next pass will try again.
    pub(crate) fn end(mut self, whole: &Profile, timeline: &Timeline) {
        // If the capture has changed meanwhile, the index would be wrong.
        let is_same = Identity::of(&self.capture) == Some(self.identity);
        if is_same && !self.has_failed && self.write(whole, timeline).is_ok() && self.file.commit().is_ok() {
            self.cache.prune(&self.target);
        }
    }

    fn write(&mut self, whole: &Profile, timeline: &Timeline) -> io::Result<()> {
        let entries = std::mem::take(&mut self.entries);
        let (whole, timeline) = (whole.clone(), timeline.clone());
        let directory = Directory { identity: self.identity, whole, timeline, entries };
        let entry = self.part(0, &directory)?;
        let mut trailer = Vec::new();
        trailer.extend(entry.offset.to_le_bytes());
        trailer.extend(entry.length.to_le_bytes());
        trailer.extend(entry.checksum.to_le_bytes());
        trailer.extend(MAGIC);
        self.file.write_all(&trailer)
    }

    fn part(&mut self, position: u64, part: &impl Serialize) -> io::Result<Entry> {
        let stored = packed::pack(part)?;
        self.file.write_all(&stored)?;
        let length = u32::try_from(stored.len()).map_err(io::Error::other)?;
        let entry = Entry { position, offset: self.offset, length, checksum: crc32fast::hash(&stored) };
        self.offset += u64::from(length);
        Ok(entry)
    }
}
