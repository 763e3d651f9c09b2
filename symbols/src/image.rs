//! The bytes of a file, mapped or read.
//!
//! A mapping costs no memory of its own, but whoever can truncate the file can kill us with SIGBUS. So only files
//! of root or of our own user are mapped, and only if nobody else may write them; the files of others are read
//! into memory, which matters when root symbolizes the programs of its users.

use crate::Reason;
use crate::identity::FileIdentity;
use memmap2::Mmap;
use std::fs::{File, Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Largest file of another user that is read into memory.
const MOST_READ: u64 = 2 << 30;

/// Bytes that stay where they are for as long as the image lives, also when it is moved.
pub(crate) enum Image {
    /// A private, read-only mapping.
    Mapped(Mmap),
    /// Bytes on the heap: a file of another user, an inflated section, a copy of the vdso.
    Owned(Vec<u8>),
}

impl Image {
    /// Opens a regular file and says which one it is. Never blocks on a pipe that took the file's place.
    pub(crate) fn open(path: &Path) -> Result<(Image, FileIdentity), Reason> {
        let file =
            OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(Reason::FileUnreadable);
        }
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
        }
    }

    /// Check that a path which is no regular file gives its reason, and at once.
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
}
