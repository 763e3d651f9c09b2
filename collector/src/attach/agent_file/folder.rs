//! A folder that nobody but its user can change.

use super::Reason;
use crate::base::file_lock::FileLock;
use rustix::fs::{
    AtFlags, CWD, Dir, Mode, OFlags, Stat, StatVfsMountFlags, Timespec, Timestamps, UTIME_NOW, fchmod, fstat,
    fstatvfs, mkdirat, openat, renameat, unlinkat, utimensat,
};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Milliseconds to wait for a lock.
const MAX_TRIES: u32 = 100;
/// The mode of a library: nobody writes to it.
const MODE: Mode = Mode::RUSR.union(Mode::XUSR);

/// An open folder of mode 0700 that belongs to the effective user.
pub(super) struct PrivateFolder {
    folder: OwnedFd,
}

impl PrivateFolder {
    /// Opens `path`, creating its last component if missing.
    pub(super) fn open(path: &Path) -> Result<PrivateFolder, Reason> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Reason::Unsafe("it is not a folder of its own"));
        };
        // Parents may be reached through links, as /tmp is on some systems: what counts is where they lead.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let above = openat(CWD, above, flags, Mode::empty()).map_err(io::Error::from)?;
        check_above(&fstat(&above).map_err(io::Error::from)?)?;
        match mkdirat(&above, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(&above, name, flags, Mode::empty()).map_err(|error| match error {
            Errno::LOOP | Errno::NOTDIR => Reason::Unsafe("it is a link or a file, not a folder"),
            error => io::Error::from(error).into(),
        })?;
        check_own(&fstat(&folder).map_err(io::Error::from)?)?;
        Ok(PrivateFolder { folder })
    }

    /// Fails on a file system mounted noexec.
    pub(super) fn check_exec(&self) -> Result<(), Reason> {
        let flags = fstatvfs(&self.folder).map_err(io::Error::from)?.f_flag;
        if flags.contains(StatVfsMountFlags::NOEXEC) { Err(Reason::Noexec) } else { Ok(()) }
    }

    /// Opens a regular file of ours for reading.
    pub(super) fn open_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.folder, name, flags, Mode::empty())?))
    }

    /// Names of all entries that are valid text.
    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.folder)? {
            names.extend(entry?.file_name().to_str().ok().map(str::to_owned));
        }
        Ok(names)
    }

    /// Removes a file.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.folder, name, AtFlags::empty())?)
    }

    /// Notes that a file is in use now.
    pub(super) fn mark_used(&self, name: &str) -> io::Result<()> {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let times = Timestamps { last_access: now, last_modification: now };
        Ok(utimensat(&self.folder, name, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Keeps others from sweeping until the lock is dropped. A sweep takes a moment; one that is stopped in the
    /// middle is not waited for.
    pub(super) fn lock_to_use(&self) -> Option<FileLock> {
        (0..MAX_TRIES).find_map(|_| {
            let lock = self.open_again().and_then(FileLock::shared).ok().flatten();
            if lock.is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            lock
        })
    }

    /// Keeps others from using and sweeping; `None` if somebody is doing either.
    pub(super) fn lock_to_sweep(&self) -> Option<FileLock> {
        self.open_again().and_then(FileLock::exclusive).ok().flatten()
    }

    /// The folder with an open file description of its own, to which a lock belongs.
    fn open_again(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(openat(&self.folder, ".", flags, Mode::empty())?)
    }

    /// When `name` was last marked as used, if it is a file that [`PrivateFolder::write`] has made, of so many bytes.
    pub(super) fn last_use(&self, name: &str, length: usize) -> io::Result<Option<SystemTime>> {
        let file = match self.open_file(name) {
            Ok(file) => file,
            // A link in our own folder is replaced like any other wrong file.
            Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::NOENT | Errno::LOOP)) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let metadata = file.metadata()?;
        let is_ours = metadata.is_file()
            && metadata.uid() == geteuid().as_raw()
            && metadata.mode() & 0o7777 == MODE.as_raw_mode()
            && metadata.len() == length as u64;
        if is_ours { metadata.modified().map(Some) } else { Ok(None) }
    }

    /// Writes a file atomically: others see the old file or the whole new one.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let temporary = format!(".{name}.{}", std::process::id());
        // Left by a process with the same pid that was killed here.
        let _ = unlinkat(&self.folder, &temporary, AtFlags::empty());
        let written = self.write_new(&temporary, bytes).and_then(|()| {
            renameat(&self.folder, &temporary, &self.folder, name)?;
            Ok(())
        });
        if written.is_err() {
            let _ = unlinkat(&self.folder, &temporary, AtFlags::empty());
        }
        written
    }

    fn write_new(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&self.folder, name, flags, Mode::RUSR | Mode::WUSR)?);
        file.write_all(bytes)?;
        fchmod(&file, MODE)?;
        // Nobody compares the bytes again once they have their name.
        file.sync_all()
    }
}

/// The parent must not let others rename our folder away and put theirs in its place.
fn check_above(above: &Stat) -> Result<(), Reason> {
    let ours = above.st_uid == geteuid().as_raw() || above.st_uid == 0;
    let mode = Mode::from_raw_mode(above.st_mode);
    if !ours {
        return Err(Reason::Unsafe("the folder above it belongs to another user"));
    }
    if mode.intersects(Mode::WGRP | Mode::WOTH) && !mode.contains(Mode::SVTX) {
        return Err(Reason::Unsafe("others may rename it: they can write to the folder above it"));
    }
    Ok(())
}

fn check_own(own: &Stat) -> Result<(), Reason> {
    if own.st_uid != geteuid().as_raw() {
        return Err(Reason::Unsafe("it belongs to another user"));
    }
    if Mode::from_raw_mode(own.st_mode).intersects(Mode::RWXG | Mode::RWXO) {
        return Err(Reason::Unsafe("others have access to it (chmod 700 closes it)"));
    }
    Ok(())
}
