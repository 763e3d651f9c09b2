//! `--aggregate`: connects the collector's thread with the viewer's totals.

use crate::exit::Failure;
use anyhow::Context;
use capture::{AtomicFile, Error, Reader, Writer};
use collector::{Aggregator, Begin, cannot_create};
use export::aggregate::{Aggregate, metadata};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// An anonymous file in memory.
pub(super) fn in_memory() -> std::io::Result<Arc<File>> {
    Ok(Arc::new(File::from(memfd_create("sysprof-memprof", MemfdFlags::CLOEXEC)?)))
}

/// Makes an aggregated capture from a recording.
struct Aggregating(Aggregate<File, File>);

/// Begins the aggregated capture, in a file that is sent away, or else in one that will be `output`. The recording
/// itself goes into a private file.
pub(super) fn begin(
    recording: &File,
    every: Duration,
    sent: Option<&File>,
    output: &Path,
) -> Result<(Begin, Option<AtomicFile>), Failure> {
    let file = recording.try_clone().context("cannot read the recording")?;
    let reader = Reader::from_source(file).context("cannot read the recording")?;
    let metadata = metadata(&reader.tables().metadata, every);
    let failed = |error| Failure::usage(cannot_create(output, error));
    let (file, created) = match sent {
        Some(sent) => (sent.try_clone().context("cannot send the capture")?, None),
        None => {
            let created = AtomicFile::create(output).map_err(failed)?;
            (created.file().map_err(failed)?, Some(created))
        }
    };
    let writer = Writer::new(file, &metadata).map_err(failed)?;
    Ok((Box::new(move || Box::new(Aggregating(Aggregate::new(reader, writer, every)))), created))
}

impl Aggregator for Aggregating {
    fn refresh(&mut self) -> Result<(u64, u64), Error> {
        let read = self.0.refresh()?;
        Ok((read, self.0.length()))
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        self.0.finish().map(drop)
    }
}
