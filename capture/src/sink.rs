//! Where a capture is written to.

use std::fs::File;
use std::io::{self, Write};

use crate::atomic::AtomicFile;

/// A writer that can make sure of what it was given.
pub trait Sink: Write {
    /// Returns when everything written is where a power cut does not reach it.
    ///
    /// # Errors
    /// What the system says; nothing is known about the bytes then.
    fn sync(&mut self) -> io::Result<()>;
}

impl Sink for File {
    fn sync(&mut self) -> io::Result<()> {
        match self.sync_all() {
            // A pipe or a socket: what was written is on its way.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            synced => synced,
        }
    }
}

/// Committing is what makes sure.
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
}
