//! Where a capture is written to.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;

use crate::atomic::AtomicFile;

/// A writer that can force what was written to disk.
pub trait Sink: Write {
    /// Returns once everything written survives a power cut.
    ///
    /// # Errors
    /// What the system reports; the state of the bytes is then unknown.
    fn sync(&mut self) -> io::Result<()>;

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

    fn is_named(&self) -> bool {
        self.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.nlink() > 0)
    }
}

/// Nothing to do: the commit syncs the file.
impl Sink for AtomicFile {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
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

    fn is_named(&self) -> bool {
        (**self).is_named()
    }
}
