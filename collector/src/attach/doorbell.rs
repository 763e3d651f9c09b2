//! The doorbell's file: created, found for a process, locked, and rung.
//!
//! It is written with system calls and never mapped here: its owner could truncate it, and an access would then kill
//! us.

use crate::base::file_lock::FileLock;
use crate::base::folders::folders;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat, fstat, openat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_res_gid, set_thread_res_uid};
use shared_ring::doorbell::{BYTES, Doorbell, FILE, FileStatus, LOCK, MAGIC};
use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Makes sure that processes this user starts from now on have a doorbell, and returns its path. Root's doorbell
/// serves all users.
///
/// # Errors
/// When none of the folders can hold it: the error of the last one.
pub fn make_doorbell() -> io::Result<PathBuf> {
    let mut result = Err(io::ErrorKind::NotFound.into());
    for folder in folders() {
        result = make_in(&folder).map(|()| folder.join(FILE));
        if result.is_ok() {
            break;
        }
    }
    result
}

fn make_in(folder: &Path) -> io::Result<()> {
    let is_for_all =
        rustix::process::geteuid().is_root() && std::env::var_os("SYSPROF_MEMPROF_DIR").is_none();
    let made = DirBuilder::new().mode(if is_for_all { 0o755 } else { 0o700 }).create(folder);
    made.or_else(|error| if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) })?;
    let folder = open_folder(folder)?;
    let stat = fstat(&folder)?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("the folder belongs to another user"));
    }
    // It makes the file that is locked.
    drop(lock(&folder)?);
    if DoorbellFile::open(&folder).is_ok() {
        return Ok(());
    }
    let temporary = format!(".{FILE}.{}", std::process::id());
    // Left by a process with the same pid that was killed here.
    let _ = unlinkat(&folder, temporary.as_str(), AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(&folder, temporary.as_str(), flags, Mode::from_raw_mode(0o644))?);
    // The umask may have removed read permission, which a service under another user needs.
    rustix::fs::fchmod(&file, Mode::from_raw_mode(0o644))?;
    file.write_all(&new_page())?;
    // A valid doorbell there was just made by somebody else; anything else is replaced.
    let placed = renameat_with(&folder, temporary.as_str(), &folder, FILE, RenameFlags::NOREPLACE);
    let placed = match placed {
        Err(Errno::EXIST) if DoorbellFile::open(&folder).is_ok() => {
            unlinkat(&folder, temporary.as_str(), AtFlags::empty())
        }
        Err(Errno::EXIST) => rustix::fs::renameat(&folder, temporary.as_str(), &folder, FILE),
        placed => placed,
    };
    Ok(placed?)
}

/// Content of a new file.
fn new_page() -> [u8; BYTES] {
    let page = Doorbell::new();
    let mut bytes = [0; BYTES];
    bytes[..4].copy_from_slice(&page.generation.load(Ordering::Relaxed).to_ne_bytes());
    bytes[4..8].copy_from_slice(&page.pid.load(Ordering::Relaxed).to_ne_bytes());
    bytes[8..16].copy_from_slice(&MAGIC.to_ne_bytes());
    bytes
}

/// Opens a folder, refusing links.
pub(super) fn open_folder(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty())
}

/// A doorbell's file, open for ringing.
#[derive(Debug)]
pub(super) struct DoorbellFile {
    file: File,
}

impl DoorbellFile {
    /// Opens the doorbell in a folder, if agents would trust it.
    pub(super) fn open(folder: &OwnedFd) -> io::Result<DoorbellFile> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat(folder, FILE, flags, Mode::empty())?;
        check(&fstat(folder)?, &fstat(&file)?)?;
        let file = File::from(file);
        let mut magic = [0; 8];
        file.read_exact_at(&mut magic, 8)?;
        if magic == MAGIC.to_ne_bytes() {
            Ok(DoorbellFile { file })
        } else {
            Err(io::Error::other("not a doorbell"))
        }
    }

    /// Device and inode, which identify it in the maps of processes.
    pub(super) fn identity(&self) -> io::Result<(u64, u64)> {
        let metadata = self.file.metadata()?;
        Ok((metadata.dev(), metadata.ino()))
    }

    /// Calls the process with this pid in its own namespace.
    pub(super) fn ring(&self, pid: u32) -> io::Result<()> {
        let mut word = [0; 4];
        self.file.read_exact_at(&mut word, 0)?;
        let page = Doorbell::new();
        page.generation.store(u32::from_ne_bytes(word), Ordering::Relaxed);
        page.ring(pid);
        // Two system calls: whoever sees the second sees the first.
        self.file.write_all_at(&pid.to_ne_bytes(), 4)?;
        self.file.write_all_at(&page.generation().to_ne_bytes(), 0)
    }
}

/// Keeps others from calling until it is dropped; `None` when somebody else is calling now.
pub(super) fn lock(folder: &OwnedFd) -> io::Result<Option<FileLock>> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file =
        as_owner(folder, || openat(folder, LOCK, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o600)))?;
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("its lock is not a regular file"));
    }
    FileLock::exclusive(file)
}

/// Runs `act` as the owner of a folder if we are root, so that the result belongs to that owner. File systems of
/// another user namespace cannot hold files of users that it does not map, such as us. A short-lived thread takes the
/// owner's identity.
pub(super) fn as_owner<T: Send>(
    folder: &OwnedFd,
    act: impl FnOnce() -> rustix::io::Result<T> + Send,
) -> io::Result<T> {
    let owner = fstat(folder)?;
    if !rustix::process::geteuid().is_root() || owner.st_uid == 0 {
        return Ok(act()?);
    }
    let (uid, gid) = (Uid::from_raw(owner.st_uid), Gid::from_raw(owner.st_gid));
    let acted = std::thread::scope(|scope| {
        let become_owner =
            move || set_thread_res_gid(gid, gid, gid).and_then(|()| set_thread_res_uid(uid, uid, uid));
        scope.spawn(move || become_owner().and_then(|()| act())).join()
    });
    Ok(acted.unwrap_or(Err(Errno::IO))?)
}

/// Fails unless the agents of the user whose folder it is trust the file.
fn check(folder: &Stat, file: &Stat) -> io::Result<()> {
    let (has_one_name, size) = (file.st_nlink == 1, file.st_size.cast_unsigned());
    let status = FileStatus { owner: file.st_uid, mode: file.st_mode, has_one_name, size };
    status.check(folder.st_uid).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn doorbell_in(folder: &Path) -> io::Result<DoorbellFile> {
        DoorbellFile::open(&open_folder(folder)?)
    }

    /// Check that a doorbell is made once, and that each ring changes its count and names the process.
    #[test]
    fn rings_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        make_in(folder.path()).unwrap();
        make_in(folder.path()).unwrap();
        let doorbell = doorbell_in(folder.path()).unwrap();
        let words = || {
            let bytes = std::fs::read(folder.path().join(FILE)).unwrap();
            [0, 4].map(|at| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap()))
        };
        let [before, _] = words();
        doorbell.ring(77).unwrap();
        assert_eq!(words(), [before + 1, 77]);
        make_in(folder.path()).unwrap();
        assert_eq!(words(), [before + 1, 77], "one that is there is kept");
    }

    /// Check that only one collector can call at a time.
    #[test]
    fn callers_exclude_each_other() {
        let folder = tempfile::tempdir().unwrap();
        make_in(folder.path()).unwrap();
        let opened = open_folder(folder.path()).unwrap();
        let one = lock(&opened).unwrap();
        assert!(one.is_some() && lock(&opened).unwrap().is_none());
        drop(one);
        assert!(lock(&opened).unwrap().is_some());
    }

    /// Check that whoever may only read the doorbell cannot keep others from calling.
    #[test]
    fn readers_cannot_lock() {
        let folder = tempfile::tempdir().unwrap();
        make_in(folder.path()).unwrap();
        let reader = File::open(folder.path().join(FILE)).unwrap();
        let _reader = FileLock::exclusive(reader).unwrap().unwrap();
        let lock = lock(&open_folder(folder.path()).unwrap()).unwrap();
        assert!(lock.is_some());
        let mode = std::fs::metadata(folder.path().join(LOCK)).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600, "nobody else can open the file that is locked");
    }

    /// Check that a foreign file in the doorbell's place is not rung, and is replaced by the folder's owner.
    #[test]
    fn strange_files_are_no_doorbells() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join(FILE);
        let elsewhere = folder.path().join("elsewhere");
        let put: [(&str, &dyn Fn()); 5] = [
            ("a short file", &|| std::fs::write(&place, [0; 100]).unwrap()),
            ("strange bytes", &|| std::fs::write(&place, [7; BYTES]).unwrap()),
            ("a link", &|| {
                std::fs::write(&elsewhere, new_page()).unwrap();
                symlink(&elsewhere, &place).unwrap();
            }),
            ("a file with two names", &|| {
                std::fs::write(&elsewhere, new_page()).unwrap();
                std::fs::hard_link(&elsewhere, &place).unwrap();
            }),
            ("a file that all can write", &|| {
                std::fs::write(&place, new_page()).unwrap();
                std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o666)).unwrap();
            }),
        ];
        for (what, put) in put {
            put();
            assert!(doorbell_in(folder.path()).is_err(), "{what}");
            make_in(folder.path()).unwrap();
            assert!(doorbell_in(folder.path()).is_ok(), "{what}");
            std::fs::remove_file(&place).unwrap();
            let _ = std::fs::remove_file(&elsewhere);
        }
    }
}
