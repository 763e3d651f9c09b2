//! Files kept open for the sake of names, which may be needed until the capture is written, whatever becomes of the
//! paths.
//!
//! Thousands of processes in a recording may run the same program, and descriptors are limited. So each file is held
//! only once.

use rustc_hash::FxHashMap;
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use std::fs::{File, Metadata, OpenOptions};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

/// By device and inode, which no other file can get meanwhile.
type Held = FxHashMap<(u64, u64), Weak<File>>;

/// Roots held at present, by mount and inode: one folder may be mounted in many places, and each leads to other files.
static ROOTS: LazyLock<Mutex<Held>> = LazyLock::new(Mutex::default);

/// Files held at present. Shared, since several threads read what `/proc` says about processes.
static HELD: LazyLock<Mutex<Held>> = LazyLock::new(Mutex::default);

/// A handle through which the file can be opened.
pub(crate) fn hold(path: &Path) -> Option<Arc<File>> {
    // Most are held already, and need not be opened.
    let known = place(&path.metadata().ok()?);
    if let Some(same) = held(&HELD).get(&known).and_then(Weak::upgrade) {
        return Some(same);
    }
    let file = open(path)?;
    // Perhaps another one by now.
    let place = place(&file.metadata().ok()?);
    Some(hold_once(&HELD, place, file))
}

/// A handle of the root of a process, through which its files are found after it has ended; `None` if it is our root.
pub(crate) fn hold_root(pid: u32) -> Option<Arc<File>> {
    static OURS: LazyLock<Option<(u64, u64)>> = LazyLock::new(|| mount(CWD, Path::new("/")));
    let path = format!("/proc/{pid}/root");
    let theirs = mount(CWD, Path::new(&path)).filter(|theirs| Some(*theirs) != *OURS)?;
    if let Some(same) = held(&ROOTS).get(&theirs).and_then(Weak::upgrade) {
        return Some(same);
    }
    let root = open(Path::new(&path))?;
    let theirs = mount(root.as_fd(), Path::new(""))?;
    Some(hold_once(&ROOTS, theirs, root))
}

/// Mount and inode of a folder. Each mount namespace has mounts of its own, even of the same folders.
fn mount(folder: BorrowedFd<'_>, path: &Path) -> Option<(u64, u64)> {
    let wanted = StatxFlags::MNT_ID | StatxFlags::INO;
    let found = statx(folder, path, AtFlags::EMPTY_PATH, wanted).ok()?;
    let is_told = StatxFlags::from_bits_retain(found.stx_mask).contains(wanted);
    is_told.then_some((found.stx_mnt_id, found.stx_ino))
}

fn open(path: &Path) -> Option<File> {
    let flags = libc::O_PATH | libc::O_CLOEXEC;
    OpenOptions::new().read(true).custom_flags(flags).open(path).ok()
}

/// Enters a handle, unless there is one.
fn hold_once(table: &Mutex<Held>, place: (u64, u64), file: File) -> Arc<File> {
    let mut held = held(table);
    if let Some(same) = held.get(&place).and_then(Weak::upgrade) {
        return same;
    }
    let file = Arc::new(file);
    held.insert(place, Arc::downgrade(&file));
    // Any number of files may come and go: entries of closed ones are dropped when the table is full.
    if held.len() == held.capacity() {
        held.retain(|_, file| file.strong_count() != 0);
    }
    file
}

fn place(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

fn held(table: &Mutex<Held>) -> MutexGuard<'_, Held> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that a file is held once under whatever name, and a different file in its place separately.
    #[test]
    fn files_are_held_once() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        std::fs::write(&one, "1").unwrap();
        std::fs::hard_link(&one, &other).unwrap();
        let first = hold(&one).unwrap();
        assert!(Arc::ptr_eq(&first, &hold(&other).unwrap()));
        std::fs::remove_file(&other).unwrap();
        std::fs::write(&other, "2").unwrap();
        assert!(!Arc::ptr_eq(&first, &hold(&other).unwrap()));
        assert!(hold(&folder.path().join("none")).is_none());
    }

    /// Check that files no longer held take no room.
    #[test]
    fn files_that_are_gone_take_no_room() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..3000 {
            let path = folder.path().join(number.to_string());
            std::fs::write(&path, "").unwrap();
            drop(hold(&path).unwrap());
        }
        assert!(held(&HELD).len() < 1000);
    }
}
