//! The bytes of a file, mapped or read.
//!
//! A mapping costs no memory of its own, but anybody who can truncate the file can kill us with SIGBUS. So only files
//! of root or of our own user are mapped, and only if nobody else may write them; files of others are read into
//! memory, which matters when root symbolizes the programs of its users.

use crate::identity::FileIdentity;
use crate::reason::Reason;
use memmap2::{Mmap, UncheckedAdvice};
use std::fs::{File, Metadata, OpenOptions};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Largest file of another user that is read into memory.
const MOST_READ: u64 = 2 << 30;

/// Bytes that stay in place for as long as the image lives, even when it is moved.
pub(crate) enum Image {
    /// A private, read-only mapping.
    Mapped(Mmap),
    /// Bytes on the heap: a file of another user, an inflated section, a copy of the vdso.
    Owned(Vec<u8>),
}

impl Image {
    /// Opens a regular file and says which one it is. Anything else in the file's place is not opened: opening a
    /// device can have effects, and opening a pipe wakes a writer that waits for a reader.
    pub(crate) fn open(path: &Path) -> Result<(Image, FileIdentity), Reason> {
        let place = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path)?;
        if !place.metadata()?.is_file() {
            return Err(Reason::FileUnreadable);
        }
        // Opens the file itself, wherever its name leads by now.
        let file = File::open(format!("/proc/self/fd/{}", place.as_raw_fd()))?;
        let metadata = file.metadata()?;
        let identity = FileIdentity::of(&metadata);
        if metadata.len() == 0 {
            return Err(Reason::UnreadableElf);
        }
        let image = if stays_whole(&metadata) { map(&file)? } else { read(file)? };
        Ok((image, identity))
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Image::Mapped(mapping) => mapping,
            Image::Owned(bytes) => bytes,
        }
    }

    /// Gives back the memory of a mapping until its bytes are read again. They come from the kernel's cache of the
    /// file.
    pub(crate) fn release(&self) {
        if let Image::Mapped(mapping) = self {
            // SAFETY: nothing was ever written to the mapping, so it has the file's bytes before and after. If this
            // fails, the memory stays.
            let _ = unsafe { mapping.unchecked_advise(UncheckedAdvice::DontNeed) };
        }
    }
}

/// Whether only root and our own user can truncate the file.
fn stays_whole(metadata: &Metadata) -> bool {
    // The owner of our own /proc entry is our effective user.
    let is_ours = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == metadata.uid());
    (is_ours || metadata.uid() == 0) && metadata.mode() & 0o002 == 0
}

fn map(file: &File) -> Result<Image, Reason> {
    // SAFETY: the file belongs to root or to us and nobody else may write it (`stays_whole`), so its bytes change
    // under the mapping only if its owner damages a binary in place, which ends a running program just the same.
    let mapping = unsafe { Mmap::map(file) }?;
    Ok(Image::Mapped(mapping))
}

fn read(file: File) -> Result<Image, Reason> {
    let mut bytes = Vec::new();
    file.take(MOST_READ + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_READ {
        return Err(Reason::FileUnreadable);
    }
    Ok(Image::Owned(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// Check that a file of ours is mapped, and one that others may write is read, with the same bytes.
    #[test]
    fn writable_by_others_is_read_not_mapped() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"bytes").unwrap();
        for (mode, mapped) in [(0o644, true), (0o666, false)] {
            std::fs::set_permissions(file.path(), PermissionsExt::from_mode(mode)).unwrap();
            let (image, _) = Image::open(file.path()).unwrap();
            assert_eq!(matches!(image, Image::Mapped(_)), mapped, "mode {mode:o}");
            assert_eq!(image.bytes(), b"bytes");
            image.release();
            assert_eq!(image.bytes(), b"bytes", "as before");
        }
    }

    /// Check that a path which is no regular file gives its reason, without blocking.
    #[test]
    fn what_is_no_file_has_a_reason() {
        let directory = tempfile::tempdir().unwrap();
        let empty = directory.path().join("empty");
        File::create(&empty).unwrap();
        for (path, expected) in [
            (directory.path().join("missing"), Reason::FileMissing),
            (empty.join("below"), Reason::FileMissing),
            (directory.path().to_path_buf(), Reason::FileUnreadable),
            ("/dev/null".into(), Reason::FileUnreadable),
            (empty, Reason::UnreadableElf),
        ] {
            assert_eq!(Image::open(&path).err(), Some(expected), "{}", path.display());
        }
    }

    /// Check that a pipe in a file's place is not opened: a process that waits for a reader goes on waiting.
    #[test]
    fn what_is_no_file_is_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let (tell, told) = std::sync::mpsc::channel();
        let writer = pipe.clone();
        let waits =
            std::thread::spawn(move || tell.send(OpenOptions::new().write(true).open(writer).is_ok()));
        // By now it is opening the pipe, or about to.
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert_eq!(Image::open(&pipe).err(), Some(Reason::FileUnreadable));
        let early = told.recv_timeout(std::time::Duration::from_millis(100));
        assert!(early.is_err(), "the pipe was opened");
        let _reader = File::open(&pipe).unwrap();
        assert_eq!(told.recv(), Ok(true));
        waits.join().unwrap().unwrap();
    }
}
