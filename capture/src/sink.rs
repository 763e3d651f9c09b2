//! Where a capture is written to.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;

use crate::atomic::AtomicFile;

/// The magic numbers of ext2 to ext4, XFS, Btrfs, F2FS, ZFS, tmpfs and overlayfs, as `statfs` gives them.
const LOCAL: [u32; 7] =
    [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x2fc1_2fc1, 0x0102_1994, 0x794c_7630];

/// A writer that can force what was written to disk.
pub trait Sink: Write {
    /// Returns once everything written survives a power cut.
    ///
    /// # Errors
    /// What the system reports; the state of the bytes is then unknown.
    fn sync(&mut self) -> io::Result<()>;

    /// True on a file system of this machine, which takes everything or says at once that it cannot: others, over a
    /// network, say so only when they are synced.
    fn is_local(&self) -> bool {
        false
    }

    /// True while what was written can be found by a name; a sink without names never has one.
    fn is_named(&self) -> bool {
        false
    }
}

impl Sink for File {
    fn sync(&mut self) -> io::Result<()> {
        match self.sync_all() {
            // A pipe or a socket: there is nothing to force to disk.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            synced => synced,
        }
    }

    fn is_local(&self) -> bool {
        rustix::fs::fstatfs(self).is_ok_and(|system| LOCAL.contains(&(system.f_type as u32)))
    }

    fn is_named(&self) -> bool {
        self.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.nlink() > 0)
    }
}

impl Sink for AtomicFile {
    fn sync(&mut self) -> io::Result<()> {
        AtomicFile::sync(self)
    }
}

impl Sink for Vec<u8> {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn sync(&mut self) -> io::Result<()> {
        (**self).sync()
    }

    fn is_local(&self) -> bool {
        (**self).is_local()
    }

    fn is_named(&self) -> bool {
        (**self).is_named()
    }
}
