//! Distilling a capture that is not itself kept.

use crate::base::error::Error;
use crate::writer::distil::{self, Distiller};
use crate::writer::written::Written;
use std::fs::File;
use std::io::{Error as IoError, ErrorKind};
use std::sync::Arc;

/// The distiller, if the capture passes through a file and somebody distils it.
#[derive(Debug)]
pub(super) struct Distilling {
    /// The growing capture, when it is not itself kept.
    passing: Option<Arc<File>>,
    distiller: Option<Distiller>,
}

impl Distilling {
    /// For a recording whose capture passes through this file.
    pub(super) fn of(passing: Option<Arc<File>>) -> Distilling {
        Distilling { passing, distiller: None }
    }

    /// Starts distilling.
    pub(super) fn start(&mut self, begin: distil::Begin, written: Arc<Written>) -> Result<(), Error> {
        let failed = |source| Error::System { what: "distil the recording", source };
        let passing = self.passing.clone();
        let file = passing.ok_or_else(|| failed(IoError::from(ErrorKind::NotFound)))?;
        self.distiller = Some(Distiller::start(begin, file, written).map_err(failed)?);
        Ok(())
    }

    /// Waits until the distiller has finished its output, whether or not the capture was finished: an incomplete
    /// capture gives the output of what there was. A failure of the distiller comes first, since it is what made the
    /// writer fail.
    pub(super) fn stop<T>(self, finished: Result<T, Error>) -> Result<T, Error> {
        self.distiller.map_or(Ok(()), Distiller::finish)?;
        finished
    }
}
