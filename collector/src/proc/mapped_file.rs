//! Finds the file that a process has mapped.
//!
//! A path tells which file has a name now. Which one was mapped the kernel tells by device and inode, and that is what
//! is compared before a name is believed:
//!
//! ```text
//!  /proc/PID/root/PATH   the path where the process sees it, in its mount namespace or below its root
//!  PATH                  where we see it, when the process is gone
//!  /proc/PID/exe         its program, whatever became of the path
//!  /proc/PID/map_files   a mapped file without a path, for root only
//! ```
//!
//! Where none of them can be had, the process's memory still has what is mapped of the file: unwind tables, no names.

use super::handles::hold;
use memmap2::MmapOptions;
use procfs::process::{MMPermissions, MMapPath, MemoryMap, Process};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use symbols::Reason;

/// What the kernel appends to the path of a file that is no longer there.
const DELETED: &str = " (deleted)";
/// Largest offset and length of a mapping that is copied: larger files have no tables then.
const MOST_COPIED: usize = 64 << 20;

/// Device and inode of a mapped file, as `/proc/PID/maps` and the kernel's records list them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    /// 0 if it is not known.
    pub(crate) inode: u64,
}

impl Identity {
    pub(crate) fn of_map(map: &MemoryMap) -> Identity {
        let number = |part: i32| part.cast_unsigned();
        Identity { device: rustix::fs::makedev(number(map.dev.0), number(map.dev.1)), inode: map.inode }
    }

    /// True for the handle of this file.
    fn is_of(self, file: &File) -> bool {
        let Ok(metadata) = file.metadata() else { return false };
        if metadata.dev() == self.device {
            return metadata.ino() == self.inode;
        }
        // `stat` gives other numbers than the list of mappings on some file systems (btrfs, overlayfs): so we map it
        // ourselves, and look how it is listed.
        listed(file) == Some(self)
    }
}

/// How a file is listed when we map it.
fn listed(file: &File) -> Option<Identity> {
    let file = File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    // SAFETY: the mapping is never read, so it does not matter who changes the file.
    let page = unsafe { MmapOptions::new().len(1).map(&file) }.ok()?;
    let address = page.as_ptr().addr() as u64;
    look_up(std::process::id(), address).map(|map| Identity::of_map(&map))
}

/// The mapping of a process at an address.
fn look_up(pid: u32, address: u64) -> Option<MemoryMap> {
    maps(pid)?.into_iter().find(|map| (map.address.0..map.address.1).contains(&address))
}

fn maps(pid: u32) -> Option<Vec<MemoryMap>> {
    let maps = Process::new(pid.cast_signed()).and_then(|process| process.maps());
    Some(maps.ok()?.into_iter().collect())
}

/// A mapped file as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MappedFile {
    /// Absolute, as the process sees it.
    pub(crate) path: PathBuf,
    pub(crate) identity: Identity,
    /// The path leads nowhere, or to another file.
    pub(crate) is_gone: bool,
    /// It was mapped at this time, if that is known: a file that has changed since is another one.
    pub(crate) mapped: Option<SystemTime>,
}

impl MappedFile {
    /// A file by the path that the kernel gives for its mapping.
    pub(crate) fn listed(path: &Path, identity: Identity) -> MappedFile {
        let plain = path.to_str().and_then(|path| path.strip_suffix(DELETED));
        MappedFile {
            path: plain.map_or_else(|| path.to_owned(), PathBuf::from),
            identity,
            is_gone: plain.is_some(),
            mapped: None,
        }
    }

    /// True for the handle of a file that was changed, or made, after this one was mapped.
    pub(crate) fn has_changed(&self, handle: &File) -> bool {
        let changed = handle.metadata().map(|metadata| (metadata.ctime(), metadata.ctime_nsec()));
        let mapped = self.mapped.and_then(|mapped| mapped.duration_since(UNIX_EPOCH).ok());
        mapped.zip(changed.ok()).is_some_and(|(mapped, changed)| {
            changed > (mapped.as_secs().cast_signed(), i64::from(mapped.subsec_nanos()))
        })
    }

    /// What a process has mapped at an address; `None` for memory without a file, or if that cannot be read.
    pub(crate) fn at(pid: u32, address: u64) -> Option<MappedFile> {
        let map = look_up(pid, address)?;
        match &map.pathname {
            MMapPath::Path(path) => Some(MappedFile::listed(path, Identity::of_map(&map))),
            _ => None,
        }
    }
}

/// A process, through which its files are reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holder<'a> {
    pub(crate) pid: u32,
    /// Its program, if that is held.
    pub(crate) program: Option<&'a Arc<File>>,
    /// Its root, if that is held.
    pub(crate) root: Option<&'a Arc<File>>,
}

impl Holder<'_> {
    /// A process of which nothing is held.
    pub(crate) fn of(pid: u32) -> Holder<'static> {
        Holder { pid, program: None, root: None }
    }

    /// A handle of a file that it has mapped.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn open(self, file: &MappedFile) -> Result<Arc<File>, Reason> {
        if file.identity.inode == 0 {
            return Err(Reason::FileUnknown);
        }
        let is_it = |handle: &Arc<File>| file.identity.is_of(handle);
        // An inode's number is given to another file once the file is gone: so a path that has led elsewhere is not
        // tried again.
        let by_path = || {
            let paths = self.paths(&file.path).filter(|_| !file.is_gone);
            paths.filter_map(|path| hold(&path)).find(|handle| is_it(handle) && !file.has_changed(handle))
        };
        let program = || self.program.cloned().filter(is_it);
        by_path().or_else(program).or_else(|| self.open_mapped(file)).ok_or_else(|| self.reason(file))
    }

    /// The same for a process that was only heard of: what it maps now comes before any path, since the file at a path
    /// may have got the number of the one that was there.
    pub(crate) fn open_mapped_first(self, file: &MappedFile) -> Result<Arc<File>, Reason> {
        self.open_mapped(file).map_or_else(|| self.open(file), Ok)
    }

    /// A handle of a file whose path is known, and which is recognized by something else than its identity.
    pub(crate) fn open_if(self, file: &MappedFile, is_it: impl Fn(&Arc<File>) -> bool) -> Option<Arc<File>> {
        let by_path = self.paths(&file.path).filter_map(|path| hold(&path)).find(&is_it);
        let mapped = || {
            let maps = maps(self.pid)?.into_iter().filter_map(|map| match &map.pathname {
                MMapPath::Path(path) => Some(MappedFile::listed(path, Identity::of_map(&map))),
                _ => None,
            });
            let mut same_path = maps.filter(|mapped| mapped.is_gone && mapped.path == file.path);
            same_path.find_map(|mapped| self.open_mapped(&mapped).filter(&is_it))
        };
        by_path.or_else(mapped)
    }

    /// A file that it has mapped now.
    fn open_mapped(self, file: &MappedFile) -> Option<Arc<File>> {
        let is_it = |handle: &Arc<File>| file.identity.is_of(handle);
        let maps = maps(self.pid)?;
        let map = maps.iter().find(|map| Identity::of_map(map) == file.identity)?;
        let (start, end) = map.address;
        let mapped = || hold(Path::new(&format!("/proc/{}/map_files/{start:x}-{end:x}", self.pid)));
        let program = hold(Path::new(&format!("/proc/{}/exe", self.pid)));
        program.filter(is_it).or_else(|| mapped().filter(is_it))
    }

    /// What a process that we may trace has mapped of a file without changing it, at its place in the file; zeros
    /// elsewhere.
    pub(crate) fn read_mapped(self, file: &MappedFile) -> Option<Vec<u8>> {
        let maps = maps(self.pid)?;
        let is_it = |map: &&MemoryMap| match file.identity.inode {
            0 => {
                matches!(&map.pathname, MMapPath::Path(path) if MappedFile::listed(path, Identity::default()).path == file.path)
            }
            _ => Identity::of_map(map) == file.identity,
        };
        let is_unchanged = |map: &&MemoryMap| {
            map.perms.contains(MMPermissions::READ) && !map.perms.contains(MMPermissions::WRITE)
        };
        let memory = File::open(format!("/proc/{}/mem", self.pid)).ok()?;
        let mut bytes = Vec::new();
        for map in maps.iter().filter(is_it).filter(is_unchanged) {
            let (start, end) = map.address;
            let from = usize::try_from(map.offset).ok().filter(|from| *from <= MOST_COPIED)?;
            let to = from + usize::try_from(end - start).ok().filter(|length| *length <= MOST_COPIED)?;
            if bytes.len() < to {
                bytes.resize(to, 0);
            }
            // What is beyond the end of the file cannot be read.
            let part = bytes.get_mut(from..to)?;
            let mut length = 0;
            while let Some(rest) = part.get_mut(length..).filter(|rest| !rest.is_empty()) {
                match memory.read_at(rest, start + length as u64) {
                    Ok(0) | Err(_) => break,
                    Ok(more) => length += more,
                }
            }
        }
        (!bytes.is_empty()).then_some(bytes)
    }

    /// Where a path of the process may lead.
    fn paths(self, path: &Path) -> impl Iterator<Item = PathBuf> {
        let inside = path.strip_prefix("/").unwrap_or(path);
        let held = self.root.map(|root| Path::new("/proc/self/fd").join(root.as_raw_fd().to_string()));
        let now = Path::new("/proc").join(self.pid.to_string()).join("root");
        held.into_iter().chain([now, PathBuf::from("/")]).map(move |root| root.join(inside))
    }

    /// Why no path leads to a file.
    pub(crate) fn reason(self, file: &MappedFile) -> Reason {
        let found = self.paths(&file.path).map(fs::metadata);
        let reasons = found.map(|found| match found {
            Ok(_) => Reason::FileReplaced,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Reason::PermissionDenied,
            Err(_) => Reason::FileMissing,
        });
        // What the process itself sees counts, as long as it is there.
        let reasons: Vec<Reason> = reasons.collect();
        let is_known = |reason: &&Reason| **reason != Reason::FileMissing;
        reasons.iter().find(is_known).copied().unwrap_or(Reason::FileMissing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    /// A process that has mapped a file, which ends with the test.
    struct Mapping(Child);

    impl Mapping {
        fn of(program: &Path) -> Mapping {
            Mapping(Command::new(program).arg("1000").spawn().unwrap())
        }

        /// The file that it executes, as it is listed.
        fn program(&self) -> MappedFile {
            let entry =
                |map: &&MemoryMap| matches!(&map.pathname, MMapPath::Path(path) if !path.starts_with("/usr"));
            loop {
                let maps = maps(self.0.id()).unwrap();
                if let Some(map) = maps.iter().find(entry) {
                    return MappedFile::at(self.0.id(), map.address.0).unwrap();
                }
            }
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn contents(handle: &File) -> Vec<u8> {
        fs::read(format!("/proc/self/fd/{}", handle.as_raw_fd())).unwrap()
    }

    /// Check that a mapped file is found by its path, after it was renamed, after another file got its path and after
    /// it was removed; and that once its process is gone it is found by no path that leads elsewhere.
    #[test]
    fn files_are_found_by_what_is_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (path, other) = (folder.join("program"), folder.join("other"));
        fs::copy("/bin/sleep", &path).unwrap();
        let original = fs::read(&path).unwrap();
        let process = Mapping::of(&path);
        let pid = process.0.id();
        let before = process.program();
        assert_eq!((&before.path, before.is_gone), (&path, false));
        let holder = Holder::of(pid);
        assert_eq!(contents(&holder.open(&before).unwrap()), original);
        fs::write(&other, "another program").unwrap();
        fs::rename(&other, &path).unwrap();
        let after = process.program();
        assert_eq!(after, MappedFile { is_gone: true, ..before.clone() });
        for file in [&before, &after] {
            assert_eq!(contents(&holder.open(file).unwrap()), original);
            assert_eq!(contents(&holder.open_mapped_first(file).unwrap()), original);
        }
        let held = holder.open(&after).unwrap();
        drop(process);
        assert_eq!(holder.open(&before).err(), Some(Reason::FileReplaced));
        fs::remove_file(&path).unwrap();
        assert_eq!(holder.open(&before).err(), Some(Reason::FileMissing));
        let program = Holder { program: Some(&held), ..holder };
        assert!(program.open(&before).is_ok());
        let unknown = MappedFile { identity: Identity::default(), ..before };
        assert_eq!(program.open(&unknown).err(), Some(Reason::FileUnknown));
    }

    /// Check that what a process has mapped of a file is taken from its memory, when the file is gone.
    #[test]
    fn memory_has_what_is_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("program");
        fs::copy("/bin/sleep", &path).unwrap();
        let original = fs::read(&path).unwrap();
        let process = Mapping::of(&path);
        let before = process.program();
        fs::remove_file(&path).unwrap();
        let by_path = MappedFile { identity: Identity::default(), ..before.clone() };
        for file in [&before, &by_path] {
            let copy = Holder::of(process.0.id()).read_mapped(file).unwrap();
            let maps = maps(process.0.id()).unwrap();
            let is_code = |map: &&MemoryMap| {
                map.perms.contains(MMPermissions::EXECUTE) && Identity::of_map(map) == before.identity
            };
            let code = maps.iter().find(is_code).unwrap();
            let from = code.offset as usize;
            let to = (from + (code.address.1 - code.address.0) as usize).min(original.len());
            assert_eq!(copy[from..to], original[from..to]);
            assert_eq!(copy[..64], original[..64]);
        }
        let unknown = MappedFile { path: "/no/such/file".into(), ..by_path };
        assert_eq!(Holder::of(process.0.id()).read_mapped(&unknown), None);
    }

    /// Check that a file that was changed after it was mapped is not taken for it, if its process is gone.
    #[test]
    fn files_that_have_changed_are_others() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let metadata = file.as_file().metadata().unwrap();
        let identity = Identity { device: metadata.dev(), inode: metadata.ino() };
        let changed =
            UNIX_EPOCH + std::time::Duration::new(metadata.ctime() as u64, metadata.ctime_nsec() as u32);
        let nobody = Holder::of(u32::MAX >> 1);
        for (mapped, is_it) in [
            (None, true),
            (Some(changed), true),
            (changed.checked_sub(std::time::Duration::from_nanos(1)), false),
        ] {
            let mapped = MappedFile { mapped, ..MappedFile::listed(file.path(), identity) };
            let expected = (!is_it).then_some(Reason::FileReplaced);
            assert_eq!(nobody.open_mapped_first(&mapped).err(), expected, "{mapped:?}");
        }
    }

    /// Check that a file that is listed with other numbers than `stat` gives is recognized by how it is listed when it
    /// is mapped once more.
    #[test]
    fn files_are_compared_as_they_are_listed() {
        let path = std::env::current_exe().unwrap();
        let handle = hold(&path).unwrap();
        let metadata = fs::metadata(&path).unwrap();
        let map = maps(std::process::id()).unwrap();
        let own = map.iter().find(|map| map.pathname == MMapPath::Path(path.clone())).unwrap();
        assert_eq!(listed(&handle), Some(Identity::of_map(own)));
        assert!(Identity::of_map(own).is_of(&handle));
        assert!(!Identity { device: metadata.dev() + 1, inode: metadata.ino() }.is_of(&handle));
        assert!(!Identity { device: metadata.dev(), inode: metadata.ino() + 1 }.is_of(&handle));
    }
}
