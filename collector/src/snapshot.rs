//! A capture of all up to now, while the recording goes on.
//!
//! The writer's thread writes what it has as whole chunks and makes the end that the file would have if this were all.
//! Whoever asked copies so much of the file, in its own time, and puts that end behind it.

use capture::{AtomicFile, Error};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// What there is of a capture.
#[derive(Debug)]
pub(crate) struct SoFar {
    /// Bytes of the file that count.
    pub(crate) length: u64,
    /// What makes them a whole capture.
    pub(crate) end: Vec<u8>,
}

/// What has become of the wish for a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// A capture of its own.
    Capture,
    /// A snapshot in the capture that is written, under the name of this mark.
    Mark(String),
}

impl Taken {
    /// What the user is told, who wanted it in this file.
    pub fn told(&self, file: &str) -> String {
        match self {
            Taken::Capture => format!("wrote {file}"),
            Taken::Mark(name) => {
                format!("marked {name}: the recording is aggregated and has a snapshot there, by that name")
            }
        }
    }
}

/// Writes a capture of its own from what there is of another, which may grow meanwhile.
pub(crate) fn write(capture: &Path, so_far: &SoFar, output: &Path) -> Result<(), Error> {
    let failed = |what: &str| {
        let action = format!("{what} {}", output.display());
        move |source: io::Error| Error::Io { action, source }
    };
    let mut file = AtomicFile::create(output)?;
    let source = File::open(capture).map_err(failed("read the capture for"))?;
    let copied = io::copy(&mut source.take(so_far.length), &mut file).map_err(failed("write"))?;
    if copied != so_far.length {
        return Err(failed("read the capture for")(io::ErrorKind::UnexpectedEof.into()));
    }
    io::Write::write_all(&mut file, &so_far.end).map_err(failed("write"))?;
    file.commit().map(|_| ())
}
