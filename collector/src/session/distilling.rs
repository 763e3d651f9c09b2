//! What becomes of a capture that is not kept itself.

use crate::Error;
use crate::distil::{self, Distiller};
use crate::writing::Written;
use std::fs::File;
use std::io::{Error as IoError, ErrorKind};
use std::sync::Arc;

/// A capture is distilled, if there is one to be distilled and somebody who does it.
#[derive(Debug)]
pub(super) struct Distilling {
    /// The growing capture, where it is not kept itself.
    passing: Option<Arc<File>>,
    distiller: Option<Distiller>,
}

impl Distilling {
    /// Of a recording whose capture passes through this file.
    pub(super) fn of(passing: Option<Arc<File>>) -> Distilling {
        Distilling { passing, distiller: None }
    }

    /// Begins.
    pub(super) fn start(&mut self, begin: distil::Begin, written: Arc<Written>) -> Result<(), Error> {
        let failed = |source| Error::System { what: "distil the recording", source };
        let passing = self.passing.clone();
        let file = passing.ok_or_else(|| failed(IoError::from(ErrorKind::NotFound)))?;
        self.distiller = Some(Distiller::start(begin, file, written).map_err(failed)?);
        Ok(())
    }

    /// Waits until what is kept has its end, when the capture has one, or will have none: then what is kept ends with what there was.
    /// Where that has failed, it is the reason of the writer's failure.
    pub(super) fn stop<T>(self, finished: Result<T, Error>) -> Result<T, Error> {
        self.distiller.map_or(Ok(()), Distiller::finish)?;
        finished
    }
}
