//! All files that sampled processes map, each once.
//!
//! A file stays open from the first sample that needs it, with its contents mapped and some of its unwind rules
//! cached. On a machine sampled for days, compilers and tests make files without end, and a mapped file keeps its
//! disk space after it is removed. So once very many are open, those unused for longest are closed; they are opened
//! again if they are needed once more.

use super::code::Code;
use super::memory::CodePages;
use crate::proc::mapped_file::{Holder, Identity, MappedFile};
use crate::proc::vdso::VDSO;
use rustc_hash::FxHashMap;
use std::cell::{Cell, OnceCell};
use std::ffi::OsStr;
use std::fs::File as Handle;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use symbols::{ModuleFile, Reason};

/// Most distinct files; any beyond have no names and no tables.
const MOST: usize = 1 << 16;

/// Most files that stay open from one round to the next; if there are more, all but half this number are closed.
const MOST_OPEN: usize = 1 << 10;

/// Index of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileId(pub(crate) u32);

/// What the kernel says about a mapped file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// As the process sees it.
    pub(crate) path: String,
    /// Empty if it has none.
    pub(crate) build_id: Vec<u8>,
    /// Unknown if a build id is known instead.
    pub(crate) identity: Identity,
}

struct File {
    key: Key,
    /// Its path led nowhere, or to another file, when it was first heard of.
    is_gone: bool,
    /// Opened when the first sample needs it.
    code: OnceCell<Result<Code, Reason>>,
    /// Found at the same time, until it is taken.
    handle: Cell<Option<Arc<Handle>>>,
    /// When it was first mapped, as far as that is known.
    mapped: Option<SystemTime>,
    /// Why only what the process has in memory is known.
    missing: Cell<Option<Reason>>,
    /// The last round that needed it.
    needed: Cell<u64>,
}

/// What a recording keeps of a file, to look names up in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownFile {
    /// As the capture stores it.
    pub(crate) file: ModuleFile,
    /// Why it cannot be opened.
    pub(crate) reason: Option<Reason>,
    /// The file itself, whatever becomes of its path.
    pub(crate) handle: Option<Arc<Handle>>,
}

impl KnownFile {
    /// Where to open it, or why it cannot be opened.
    pub(crate) fn source(self) -> Result<ModuleFile, Reason> {
        self.reason.map_or(Ok(self.file), Err)
    }
}

/// The files.
pub(crate) struct Files {
    most_open: usize,
    round: u64,
    open: Cell<usize>,
    /// The mappings come from a capture file: they are old, and perhaps from another machine.
    are_of_a_file: bool,
    ids: FxHashMap<Key, FileId>,
    files: Vec<File>,
    /// Number of files that were parsed.
    pub(crate) opened: Cell<u64>,
    /// Code outside of files.
    pages: CodePages,
}

impl Default for Files {
    fn default() -> Files {
        Files {
            most_open: MOST_OPEN,
            round: 0,
            open: Cell::new(0),
            are_of_a_file: false,
            ids: FxHashMap::default(),
            files: Vec::new(),
            opened: Cell::new(0),
            pages: CodePages::default(),
        }
    }
}

impl Files {
    /// For the mappings that a capture records: files are looked up by path, and nothing is assumed from what this
    /// machine's processes share.
    pub(crate) fn of_a_file() -> Files {
        Files { are_of_a_file: true, ..Files::default() }
    }

    /// The file that a mapping names; `None` for memory that no file holds.
    pub(crate) fn id(&mut self, path: &[u8], build_id: &[u8], identity: Identity) -> Option<FileId> {
        let MappedFile { path, is_gone, .. } =
            MappedFile::listed(Path::new(OsStr::from_bytes(path)), identity);
        let path = path.as_os_str().as_bytes();
        if path != VDSO.as_bytes() && (!path.starts_with(b"/") || path.starts_with(b"//")) {
            return None;
        }
        let key =
            Key { path: String::from_utf8_lossy(path).into_owned(), build_id: build_id.to_vec(), identity };
        if let Some(known) = self.ids.get(&key) {
            return Some(*known);
        }
        let id = FileId(u32::try_from(self.files.len()).ok().filter(|_| self.files.len() < MOST)?);
        self.files.push(File {
            key: key.clone(),
            is_gone,
            code: OnceCell::new(),
            handle: Cell::new(None),
            mapped: None,
            missing: Cell::new(None),
            needed: Cell::new(0),
        });
        self.ids.insert(key, id);
        Some(id)
    }

    /// Notes that a file was mapped at a time.
    pub(crate) fn was_mapped(&mut self, id: FileId, at: Option<SystemTime>) {
        if let Some(file) = self.files.get_mut(id.0 as usize) {
            file.mapped = file.mapped.or(at);
        }
    }

    /// The file's contents, opened on behalf of a process that maps it.
    pub(crate) fn code(&self, id: FileId, pid: u32) -> Option<&Code> {
        let file = self.files.get(id.0 as usize)?;
        file.needed.set(self.round);
        let code = file.code.get_or_init(|| {
            self.opened.set(self.opened.get() + 1);
            let code = if self.are_of_a_file { open_now(&file.key) } else { file.open(pid) };
            self.open.set(self.open.get() + usize::from(code.is_ok()));
            code
        });
        code.as_ref().ok()
    }

    /// The 16 bytes of code at an address of a process that no file holds.
    pub(crate) fn memory(&self, pid: u32, address: u64) -> Option<[u8; 16]> {
        if self.are_of_a_file { None } else { self.pages.sixteen(pid, address, self.round) }
    }

    /// Every sample up to now has been processed: closes files if too many are open.
    pub(crate) fn end_round(&mut self) {
        self.round += 1;
        if self.open.get() <= self.most_open {
            return;
        }
        let mut open: Vec<&mut File> =
            self.files.iter_mut().filter(|file| matches!(file.code.get(), Some(Ok(_)))).collect();
        open.sort_by_key(|file| file.needed.get());
        let stay = self.most_open / 2;
        let close = open.len().saturating_sub(stay);
        open.into_iter().take(close).for_each(|file| drop(file.code.take()));
        self.open.set(stay);
    }

    /// What the kernel said about the file.
    #[cfg(test)]
    pub(crate) fn key(&self, id: FileId) -> Option<&Key> {
        self.files.get(id.0 as usize).map(|file| &file.key)
    }

    /// The file that a process maps from `offset` on at `start`, and what to subtract from the process's addresses to
    /// get those in the file.
    pub(crate) fn mapped(
        &mut self,
        path: &[u8],
        identity: Identity,
        pid: u32,
        (start, offset): (u64, u64),
    ) -> Option<(KnownFile, u64)> {
        let id = self.id(path, &[], identity)?;
        let bias = self.code(id, pid).map_or(start.wrapping_sub(offset), |code| code.bias(start, offset));
        Some((self.file(id, pid), bias))
    }

    /// What is known about the file, as far as it could be opened. Its handle is given away once.
    pub(crate) fn file(&self, id: FileId, pid: u32) -> KnownFile {
        let Some(file) = self.files.get(id.0 as usize) else { return KnownFile::default() };
        let Key { path, build_id, identity } = &file.key;
        if let Some(code) = self.code(id, pid) {
            let reason = file.missing.get().filter(|_| code.file.build_id.is_empty());
            return KnownFile { file: code.file.clone(), reason, handle: file.handle.take() };
        }
        let reason = file.code.get().and_then(|code| code.as_ref().err()).copied();
        // An inode's number alone is worth nothing later, when another file may have it. A build id proves any copy.
        let inode = if self.are_of_a_file { identity.inode } else { 0 };
        let known = ModuleFile { build_id: build_id.clone(), inode, ..ModuleFile::at(path) };
        KnownFile { file: known, reason: reason.filter(|_| build_id.is_empty()), handle: None }
    }
}

impl File {
    /// Opens the file that the process has mapped; if that cannot be had, takes what the process has in memory.
    fn open(&self, pid: u32) -> Result<Code, Reason> {
        let Key { path, build_id, identity } = &self.key;
        if path == VDSO {
            return own_vdso();
        }
        let holder = Holder::of(pid);
        let mapped =
            MappedFile { path: path.into(), identity: *identity, is_gone: self.is_gone, mapped: self.mapped };
        match self.find(holder, &mapped) {
            Ok(handle) => {
                let code = open_at(&self.key, &way(&handle))?;
                self.handle.set(Some(handle));
                Ok(code)
            }
            Err(reason) => {
                self.missing.set(Some(reason));
                let copy = holder.read_mapped(&mapped).and_then(|bytes| Code::copy(bytes, build_id, path));
                copy.ok_or(reason)
            }
        }
    }

    /// The file that the process has mapped, or another one with its build id where the process sees it, or we do.
    fn find(&self, holder: Holder<'_>, mapped: &MappedFile) -> Result<Arc<Handle>, Reason> {
        if self.key.build_id.is_empty() {
            return holder.open_mapped_first(mapped);
        }
        let is_it = |handle: &Arc<Handle>| open_at(&self.key, &way(handle)).is_ok();
        holder.open_if(mapped, is_it).ok_or_else(|| holder.reason(mapped))
    }
}

/// The path by which a handle is opened.
fn way(handle: &Handle) -> PathBuf {
    format!("/proc/self/fd/{}", handle.as_raw_fd()).into()
}

/// Opens a file as we see it, but only if something proves that it is the one that was mapped.
fn open_now(key: &Key) -> Result<Code, Reason> {
    if key.build_id.is_empty() && key.identity.inode == 0 {
        return Err(Reason::FileUnknown);
    }
    if key.path == VDSO {
        // Ours may be that of another kernel.
        return own_vdso().and_then(|code| match code.file.build_id == key.build_id {
            true => Ok(code),
            false => Err(Reason::FileReplaced),
        });
    }
    let path = Path::new(&key.path);
    open_by(key, path, key.identity.inode)
}

/// The vDSO, from our own process.
fn own_vdso() -> Result<Code, Reason> {
    let image = crate::proc::vdso::vdso().ok_or(Reason::FileMissing)?;
    Code::vdso(image, VDSO)
}

/// Opens a file that is the mapped one unless its build id is another.
fn open_at(key: &Key, path: &Path) -> Result<Code, Reason> {
    open_by(key, path, 0)
}

fn open_by(key: &Key, path: &Path, inode: u64) -> Result<Code, Reason> {
    let known = ModuleFile { build_id: key.build_id.clone(), inode, ..ModuleFile::at(path) };
    Code::open(&known, &key.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How the kernel lists a file: its file system has the same numbers for `stat`.
    fn identity(path: &Path) -> Identity {
        use std::os::unix::fs::MetadataExt;
        let metadata = std::fs::metadata(path).unwrap();
        Identity { device: metadata.dev(), inode: metadata.ino() }
    }

    /// Check that a file is opened once for all processes that map it, and that memory without a file has none.
    #[test]
    fn files_are_opened_once() {
        let mut files = Files::default();
        let path = std::env::current_exe().unwrap();
        for pid in 1..=100 {
            let id = files.id(path.as_os_str().as_bytes(), &[], identity(&path)).unwrap();
            assert!(files.code(id, pid).is_some());
        }
        assert_eq!((files.files.len(), files.opened.get()), (1, 1));
        for path in [&b""[..], b"//anon", b"[heap]", b"[vsyscall]", b"anon_inode:x"] {
            assert_eq!(files.id(path, &[], Identity::default()), None);
        }
    }

    /// Check that if too many files are open, those unused for longest are closed, with nothing of them left in
    /// memory, and are opened again when they are needed, if they still exist.
    #[test]
    fn files_are_closed_that_nobody_needs() {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = (0..6).map(|number| folder.path().join(format!("true-{number}"))).collect();
        for path in &paths {
            std::fs::copy("/bin/true", path).unwrap();
        }
        let mut files = Files { most_open: 4, ..Files::default() };
        let ids: Vec<FileId> = paths
            .iter()
            .map(|path| files.id(path.as_os_str().as_bytes(), &[], identity(path)).unwrap())
            .collect();
        let mapped = || {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            Vec::from_iter(paths.iter().map(|path| maps.contains(path.to_str().unwrap())))
        };
        let own = std::process::id();
        for id in &ids[..4] {
            assert!(files.code(*id, own).is_some());
            files.end_round();
        }
        assert_eq!(mapped(), [true, true, true, true, false, false]);
        assert!(files.code(ids[0], own).is_some() && files.code(ids[4], own).is_some());
        files.end_round();
        assert_eq!(mapped(), [true, false, false, false, true, false]);
        std::fs::remove_file(&paths[2]).unwrap();
        assert!(files.code(ids[1], own).is_some() && files.code(ids[2], own).is_none());
        assert_eq!((files.open.get(), files.opened.get()), (3, 7));
        let gone = files.file(ids[2], own);
        assert_eq!((gone.file.path, gone.reason), (paths[2].clone(), Some(Reason::FileMissing)));
    }

    /// Check that a file with another build id than the mapped one is not read.
    #[test]
    fn other_builds_are_not_read() {
        let mut files = Files::default();
        let path = std::env::current_exe().unwrap().to_string_lossy().into_owned();
        let id = files.id(path.as_bytes(), &[1, 2, 3], Identity::default()).unwrap();
        assert!(files.code(id, std::process::id()).is_none());
        assert_eq!(files.file(id, 0).file.build_id, [1, 2, 3]);
    }

    /// Check that the vDSO of a capture file is taken to be ours if it is the same one, and only then.
    #[test]
    fn vdso_of_a_file_is_ours_by_its_build_id() {
        let ours = own_vdso().unwrap().file.build_id;
        for (build_id, is_ours) in [(&ours[..], true), (&[1, 2, 3], false), (&[], false)] {
            let mut files = Files::of_a_file();
            let id = files.id(VDSO.as_bytes(), build_id, Identity::default()).unwrap();
            assert_eq!(files.code(id, 0).is_some(), is_ours, "{build_id:x?}");
        }
    }

    /// Check that the vDSO is known.
    #[test]
    fn vdso_is_known() {
        let mut files = Files::default();
        let id = files.id(VDSO.as_bytes(), &[], Identity::default()).unwrap();
        assert!(files.code(id, 0).is_some_and(|code| code.sections().is_some()));
    }
}
