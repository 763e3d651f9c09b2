//! Creates capture files.

use std::fs::{self, File};
use std::path::Path;

use super::Writer;
use crate::atomic::{self, AtomicFile};
use crate::error::Error;
use crate::model::Metadata;

/// What to do when the capture's name is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Create {
    /// Fail, and touch nothing.
    New,
    /// Replace it, once the beginning of the new capture is on disk.
    Replace,
}

impl Writer<File> {
    /// Creates the file, readable by its owner only, and writes its beginning.
    ///
    /// # Errors
    /// When the name is taken (with [`Create::New`]) or the folder does not take the file.
    pub fn create(path: impl AsRef<Path>, create: Create, metadata: &Metadata) -> Result<Self, Error> {
        let path = path.as_ref();
        match create {
            Create::New => {
                let file =
                    atomic::create_new(path).map_err(Error::io(format!("create {}", path.display())))?;
                Writer::new(file, metadata).inspect_err(|_| {
                    // A file without a beginning is useless; failing to remove it is not a second error.
                    let _stays = fs::remove_file(path);
                })
            }
            Create::Replace => {
                let file = AtomicFile::create(path)?;
                let writer = Writer::new(file.file()?, metadata)?;
                file.commit()?;
                Ok(writer)
            }
        }
    }
}
