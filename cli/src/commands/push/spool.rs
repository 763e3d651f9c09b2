//! The profiles that a receiver has not accepted yet, on disk: a folder with a file for each, which are sent in order.
//!
//! ```text
//!  app.memprof.push/  000000000007.profile   being sent        ◄── removed when it is accepted, or refused for good
//!                     000000000008.profile   the oldest other  ◄── removed when there is no room for a new one
//!                     000000000009.profile
//! ```
//!
//! One process at a time has a spool: it holds a lock on the folder. A file gets its name when it is whole, so whoever
//! is killed leaves whole ones.

use super::upload::{Head, Upload};
use anyhow::{Context, anyhow, bail};
use collector::FileLock;
use std::collections::VecDeque;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const ENDING: &str = ".profile";
const UNFINISHED: &str = "unfinished";

/// A spool of this process.
#[derive(Debug)]
pub(super) struct Spool {
    folder: PathBuf,
    _lock: FileLock,
    /// The oldest first.
    entries: VecDeque<Entry>,
    bytes: u64,
    limit: u64,
    next: u64,
}

/// A file in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    number: u64,
    bytes: u64,
}

impl Spool {
    /// Opens or makes a folder, for profiles of so many bytes that go to addresses which begin with this one.
    ///
    /// # Errors
    /// When it cannot be used, is used by another process, belongs to another user, or has profiles for others.
    pub(super) fn open(folder: &Path, limit: u64, receiver: &str) -> anyhow::Result<Spool> {
        let name = folder.display();
        let failed = || format!("cannot keep profiles in {name}");
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(error).with_context(failed);
            }
            _ => {}
        }
        let opened = File::open(folder).with_context(failed)?;
        let owner = opened.metadata().with_context(failed)?;
        if !owner.is_dir() || owner.uid() != rustix::process::geteuid().as_raw() {
            bail!("{name} is no folder of this user: give another one with --push-spool");
        }
        let lock = FileLock::exclusive(opened).with_context(failed)?.ok_or_else(|| {
            anyhow!("another recording keeps its profiles in {name}: give another folder with --push-spool")
        })?;
        let mut entries = Vec::new();
        for file in fs::read_dir(folder).with_context(failed)? {
            let file = file.with_context(failed)?;
            let Some(number) = number(&file.file_name().to_string_lossy()) else { continue };
            entries.push(Entry { number, bytes: file.metadata().with_context(failed)?.len() });
        }
        entries.sort_unstable_by_key(|entry| entry.number);
        let next = entries.last().map_or(1, |entry| entry.number.saturating_add(1));
        let bytes = entries.iter().map(|entry| entry.bytes).sum();
        let folder = folder.to_owned();
        let spool = Spool { folder, _lock: lock, entries: entries.into(), bytes, limit, next };
        for entry in &spool.entries {
            // What is damaged is found when it is to be sent.
            let other = Head::read(&spool.path(*entry)).ok().filter(|head| !head.url.starts_with(receiver));
            if let Some(Head { url, .. }) = other {
                bail!(
                    "{} has profiles for another receiver, {}: send them with sysprof-memprof export --push, or give another \
                     folder with --push-spool",
                    spool.folder.display(),
                    url.split('?').next().unwrap_or_default()
                );
            }
        }
        Ok(spool)
    }

    /// The folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// How many profiles there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The one to be sent next.
    pub(super) fn first(&self) -> Option<Entry> {
        self.entries.front().copied()
    }

    /// Reads a profile.
    ///
    /// # Errors
    /// When it is damaged or gone.
    pub(super) fn read(&self, entry: Entry) -> anyhow::Result<Upload> {
        Upload::read(&self.path(entry), self.limit)
    }

    /// Adds a profile. Returns how many had to go for it: the oldest ones, but for the one that is `sent` now, whose
    /// fate is not known; or it itself.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn put(&mut self, upload: &Upload, sent: Option<Entry>) -> io::Result<u64> {
        let entry = Entry { number: self.next, bytes: self.write(upload)? };
        self.next += 1;
        self.entries.push_back(entry);
        self.bytes += entry.bytes;
        let mut gone = 0;
        while self.bytes > self.limit {
            let Some(oldest) = self.entries.iter().copied().find(|one| Some(*one) != sent) else { break };
            self.remove(oldest);
            gone += 1;
        }
        Ok(gone)
    }

    /// Writes the next file; returns its length.
    fn write(&self, upload: &Upload) -> io::Result<u64> {
        let half = self.folder.join(UNFINISHED);
        let written = (|| {
            let mut options = OpenOptions::new();
            let file = options.write(true).create(true).truncate(true).mode(0o600).open(&half)?;
            let mut out = BufWriter::new(file);
            upload.write(&mut out)?;
            out.flush()?;
            let length = out.get_ref().metadata()?.len();
            fs::rename(&half, self.folder.join(file_name(self.next)))?;
            Ok(length)
        })();
        if written.is_err() {
            let _ = fs::remove_file(&half);
        }
        written
    }

    /// Removes a profile.
    pub(super) fn remove(&mut self, entry: Entry) {
        // It is not sent again, even if its file stays.
        let _ = fs::remove_file(self.path(entry));
        if let Some(place) = self.entries.iter().position(|one| *one == entry) {
            self.entries.remove(place);
            self.bytes -= entry.bytes;
        }
    }

    /// Removes the folder, if nothing is in it.
    pub(super) fn clear(&self) {
        let _ = fs::remove_file(self.folder.join(UNFINISHED));
        let _ = fs::remove_dir(&self.folder);
    }

    fn path(&self, entry: Entry) -> PathBuf {
        self.folder.join(file_name(entry.number))
    }
}

fn file_name(number: u64) -> String {
    format!("{number:012}{ENDING}")
}

fn number(file: &str) -> Option<u64> {
    file.strip_suffix(ENDING)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "http://host/ingest";

    fn upload(text: &str) -> Upload {
        let head = Head { url: format!("{URL}?x"), headers: vec![("a".into(), "b".into())] };
        Upload { head, body: text.into() }
    }

    fn texts(spool: &Spool) -> Vec<String> {
        let text = |entry: &Entry| String::from_utf8(spool.read(*entry).unwrap().body).unwrap();
        spool.entries.iter().map(text).collect()
    }

    /// Check that profiles come back in order, in the next process, too, and that an empty folder goes.
    #[test]
    fn profiles_outlive_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("spool");
        let mut spool = Spool::open(&place, 1 << 20, URL).unwrap();
        for number in 0..12 {
            assert_eq!(spool.put(&upload(&number.to_string()), None).unwrap(), 0);
        }
        let first = spool.first().unwrap();
        assert_eq!(spool.read(first).unwrap(), upload("0"));
        spool.remove(first);
        assert!(Spool::open(&place, 1 << 20, URL).unwrap_err().to_string().contains("another recording"));
        drop(spool);
        // What was being written when the process was killed.
        fs::write(place.join("unfinished"), "half").unwrap();
        let error = Spool::open(&place, 1 << 20, "http://other/").unwrap_err().to_string();
        assert!(error.contains("another receiver, http://host/ingest:"), "{error}");
        let mut spool = Spool::open(&place, 1 << 20, URL).unwrap();
        spool.put(&upload("12"), None).unwrap();
        assert_eq!(texts(&spool), (1..13).map(|number| number.to_string()).collect::<Vec<_>>());
        spool.clear();
        assert!(place.exists());
        while let Some(entry) = spool.first() {
            spool.remove(entry);
        }
        spool.clear();
        assert!(!place.exists());
    }

    /// Check that the oldest profiles go when there is no room, but for the one that is being sent, and that the files
    /// have no more bytes than permitted.
    #[test]
    fn oldest_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(folder.path(), 400, URL).unwrap();
        let mut gone = 0;
        for number in 0..20 {
            let sent = spool.entries.front().copied().filter(|_| number > 4);
            gone += spool.put(&upload(&format!("{number:050}")), sent).unwrap();
            let files = fs::read_dir(folder.path()).unwrap();
            let bytes: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
            assert!(bytes == spool.bytes && bytes <= 400, "{bytes} {}", spool.bytes);
        }
        let kept: Vec<u64> = texts(&spool).iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(kept.len() as u64 + gone, 20);
        assert!(kept[0] < 5 && kept[1..] == [18, 19], "{kept:?}");
        assert_eq!(
            spool.put(&upload(&"x".repeat(500)), None).unwrap(),
            4,
            "one that is too large goes itself"
        );
        assert_eq!(spool.len(), 0);
    }

    /// Check that damaged files are errors, not panics.
    #[test]
    fn damage_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        for (number, text) in ["", "\n", "{\"url\":1}\n", "no JSON"].iter().enumerate() {
            fs::write(folder.path().join(file_name(number as u64)), text).unwrap();
        }
        let spool = Spool::open(folder.path(), 400, URL).unwrap();
        assert_eq!(spool.len(), 4);
        assert!(spool.entries.iter().all(|entry| spool.read(*entry).is_err()));
    }
}
