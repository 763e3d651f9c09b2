//! The writer's thread, from the outside.

use super::draining::{DrainSummary, Drained};
use super::scanning::Scanned;
use super::spawn;
use crate::base::error::Error;
use crate::base::failure::Failure;
use crate::cpu::Sampled;
use crate::writer::pipeline::Pipeline;
use crate::writer::writing::{Inputs, write};
use crate::writer::written::Written;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Writes the capture until stopped.
#[derive(Debug)]
pub(super) struct Writing {
    thread: JoinHandle<Result<(Pipeline, u64), capture::Error>>,
    path: PathBuf,
    pub(super) written: Arc<Written>,
    pub(super) failure: Arc<Failure>,
}

/// A capture with everything that was recorded, but without its end.
pub(super) struct Whole {
    pub(super) path: PathBuf,
    pub(super) pipeline: Pipeline,
    pub(super) cpu_ns: u64,
    pub(super) drain: DrainSummary,
}

impl Writing {
    /// Starts feeding `inputs` to the pipeline, which writes to `path`.
    pub(super) fn start(path: PathBuf, pipeline: Pipeline, inputs: Inputs) -> Result<Writing, Error> {
        let failed = |source| Error::System { what: "make an eventfd", source };
        let (written, failure) = (Arc::new(Written::default()), Arc::new(Failure::new().map_err(failed)?));
        let (out, noted) = (written.clone(), failure.clone());
        let thread = spawn("writer", move || {
            write(pipeline, inputs, &out).inspect_err(|error| noted.note(error.to_string()))
        })?;
        Ok(Writing { thread, path, written, failure })
    }

    /// Waits until everything from rings, scans and samples is written.
    pub(super) fn stop(self, drained: Drained, _: &Scanned, _: &Sampled) -> Result<Whole, Error> {
        let drain = drained.end_of_records();
        let Writing { thread, path, .. } = self;
        match thread.join().map_err(|_| Error::Crashed)? {
            Ok((pipeline, cpu_ns)) => Ok(Whole { path, pipeline, cpu_ns, drain }),
            Err(source) => Err(Error::Capture { path, source }),
        }
    }
}
