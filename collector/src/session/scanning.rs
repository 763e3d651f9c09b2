//! The thread that scans processes at their ends, from the outside.

use super::draining::Drained;
use super::no_thread;
use crate::base::error::Error;
use crate::control::exit_scans::ExitScans;
use crate::control::requests::Requests;
use crate::image::exit_scan::ExitScan;
use crate::writer::written::Written;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// Scans exiting processes, if asked to.
#[derive(Debug)]
pub(super) struct Scanning(Option<JoinHandle<ExitScans>>);

/// All scans are written.
#[derive(Debug)]
pub(super) struct Scanned(ExitScans);

impl Scanning {
    /// Scans the processes that `parting` delivers, if there is such a channel.
    pub(super) fn start(
        parting: Option<mpsc::Receiver<ExitScan>>,
        requests: &Requests,
        written: &Arc<Written>,
    ) -> Result<Scanning, Error> {
        let Some(parting) = parting else { return Ok(Scanning(None)) };
        let (requests, written) = (requests.clone(), written.clone());
        let serve = move || ExitScans::serve(&parting, &requests, written);
        // Does not give way: until it is stopped, the process's other threads run on, although the exiting one has
        // already torn down what they use.
        let thread = std::thread::Builder::new().name("partings".into()).spawn(serve);
        Ok(Scanning(Some(thread.map_err(no_thread)?)))
    }

    /// Waits for scans that have begun: once the rings are empty no more processes arrive, and the writer still takes
    /// results.
    pub(super) fn stop(self, _: &Drained) -> Scanned {
        Scanned(self.0.and_then(|thread| thread.join().ok()).unwrap_or_default())
    }
}

impl Scanned {
    /// Remark for the user, if any.
    pub(super) fn remark(&self) -> Option<String> {
        self.0.remark()
    }
}
