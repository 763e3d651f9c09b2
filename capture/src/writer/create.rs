//! Creates capture files.

use std::fs::File;
use std::path::Path;

use super::Writer;
use crate::atomic::AtomicFile;
use crate::error::Error;
use crate::model::Metadata;

/// What to do when the capture's name is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Create {
    /// Fail, and touch nothing.
    New,
    /// Replace it, once the beginning of the new capture is written.
    Replace,
}

impl Writer<File> {
    /// Creates the file, readable by its owner only, and writes its beginning.
    ///
    /// # Errors
    /// When the name is taken (with [`Create::New`]) or the folder does not take the file.
    pub fn create(path: impl AsRef<Path>, create: Create, metadata: &Metadata) -> Result<Self, Error> {
        let file = AtomicFile::create(path.as_ref())?;
        let writer = Writer::new(file.file()?, metadata)?;
        create.place(file)?;
        Ok(writer)
    }
}

impl Create {
    /// Gives a file its name, when the beginning of the capture is in it.
    ///
    /// # Errors
    /// As [`AtomicFile::place_new`] and [`AtomicFile::place`]; what had the name keeps it.
    pub fn place(self, file: AtomicFile) -> Result<File, Error> {
        match self {
            Create::New => file.place_new(),
            Create::Replace => file.place(),
        }
    }
}
