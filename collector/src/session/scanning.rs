//! The thread that scans processes at their ends, from the outside.

use super::draining::Emptied;
use super::no_thread;
use crate::Error;
use crate::exit_scans::{ExitScan, ExitScans};
use crate::requests::Requests;
use crate::writing::Written;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// Processes are scanned at their ends, if they are to be.
#[derive(Debug)]
pub(super) struct Scanning(Option<JoinHandle<ExitScans>>);

/// All scans are written.
#[derive(Debug)]
pub(super) struct Scanned(ExitScans);

impl Scanning {
    /// Scans what comes out of `parting`, when there is such a thing.
    pub(super) fn start(
        parting: Option<mpsc::Receiver<ExitScan>>,
        requests: &Requests,
        written: &Arc<Written>,
    ) -> Result<Scanning, Error> {
        let Some(parting) = parting else { return Ok(Scanning(None)) };
        let (requests, written) = (requests.clone(), written.clone());
        let serve = move || ExitScans::serve(&parting, &requests, written);
        // It does not give way: until a process stands still its threads run on beside one that has ended all they use.
        let thread = std::thread::Builder::new().name("partings".into()).spawn(serve);
        Ok(Scanning(Some(thread.map_err(no_thread)?)))
    }

    /// Waits for those that have begun: nothing parts any more once rings are empty, and the writer still takes what is found.
    pub(super) fn stop(self, _: &Emptied) -> Scanned {
        Scanned(self.0.and_then(|thread| thread.join().ok()).unwrap_or_default())
    }
}

impl Scanned {
    /// For the user.
    pub(super) fn remark(&self) -> Option<String> {
        self.0.remark()
    }
}
