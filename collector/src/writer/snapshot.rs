//! A capture of everything so far, while the recording goes on.
//!
//! The writer's thread flushes what it has as whole chunks, and builds the end that the file would have if it ended
//! there. The requester copies the file up to that length, without holding the writer up, and appends that end.

use capture::{AtomicFile, Error};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The capture so far.
#[derive(Debug)]
pub(crate) struct SoFar {
    /// Bytes of the file to copy.
    pub(crate) length: u64,
    /// To be appended, to make a complete capture.
    pub(crate) end: Vec<u8>,
}

/// Outcome of a snapshot request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// A separate capture.
    Capture,
    /// A snapshot within the capture being written, named after this mark.
    Mark(String),
}

impl Taken {
    /// The message for the user, who asked for it in this file.
    pub fn message(&self, file: &str) -> String {
        match self {
            Taken::Capture => format!("wrote {file}"),
            Taken::Mark(name) => {
                format!("marked {name}: the recording is aggregated, and has a snapshot of that name there")
            }
        }
    }
}

/// Writes a complete capture from the first part of another one, which may grow meanwhile.
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
