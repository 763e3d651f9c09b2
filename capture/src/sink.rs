//! Where a capture is written to.

use std::fs::File;
use std::io::{self, Write};

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
        self.sync_all()
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
