//! Aggregating a capture that is not itself kept.

use crate::base::error::Error;
use crate::writer::aggregator::{self, AggregatorThread};
use crate::writer::written::Written;
use std::fs::File;
use std::io::{Error as IoError, ErrorKind};
use std::sync::Arc;

/// The aggregator, if the capture passes through a file and somebody aggregates it.
#[derive(Debug)]
pub(super) struct Aggregating {
    /// The growing capture, when it is not itself kept.
    passing: Option<Arc<File>>,
    aggregator: Option<AggregatorThread>,
}

impl Aggregating {
    /// For a recording whose capture passes through this file.
    pub(super) fn of(passing: Option<Arc<File>>) -> Aggregating {
        Aggregating { passing, aggregator: None }
    }

    /// Starts aggregating.
    pub(super) fn start(&mut self, begin: aggregator::Begin, written: Arc<Written>) -> Result<(), Error> {
        let failed = |source| Error::System { what: "aggregate the recording", source };
        let passing = self.passing.clone();
        let file = passing.ok_or_else(|| failed(IoError::from(ErrorKind::NotFound)))?;
        self.aggregator = Some(AggregatorThread::start(begin, file, written).map_err(failed)?);
        Ok(())
    }

    /// Waits until the aggregator has finished its output, whether or not the capture was finished: an incomplete
    /// capture gives the output of what there was. A failure of the aggregator comes first, since it is what made the
    /// writer fail.
    pub(super) fn stop<T>(self, finished: Result<T, Error>) -> Result<T, Error> {
        self.aggregator.map_or(Ok(()), AggregatorThread::finish)?;
        finished
    }
}
