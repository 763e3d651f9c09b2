//! Processes that wait at exit to be scanned.
//!
//! ```text
//!  agent     parting = 1, record of the exit, waits ···············································  goes on, and is gone
//!  drain              sees that, parting = 3 ─► exit scans
//!  scan                                           all threads stop, searches, parting = 2, they go on
//!  writer                                                                                          writes, in its own time
//! ```
//!
//! A process waits for the search itself, and for room for its findings ([`super::backlog`]); if there may never be
//! room, it continues at once. Its other threads run until they are stopped, so the scan begins as soon as we see the
//! process wait. Records still in rings are written later, with the times they carry.

use super::backlog::{Backlog, STANDS_STILL};
use super::commands::Answer;
use super::requests::Requests;
use crate::base::log::debug;
use crate::image::exit_scan::ExitScan;
use crate::writer::written::Written;
use std::sync::{Arc, mpsc};

/// Outcome of the scans at exit.
#[derive(Debug, Default)]
pub(crate) struct ExitScans {
    failed: u64,
    /// Why the first of them failed.
    reason: String,
}

impl ExitScans {
    /// Scans each process that arrives, until no more can.
    pub(crate) fn serve(
        exit_scans: &mpsc::Receiver<ExitScan>,
        requests: &Requests,
        written: Arc<Written>,
    ) -> ExitScans {
        let mut done = ExitScans::default();
        let mut backlog = Backlog::new(written);
        for exit_scan in exit_scans {
            let scan = if !exit_scan.is_recorded() {
                Err("the recording ended first".into())
            } else if backlog.has_room(|answer| done.note(answer)) {
                requests.scan_at_end(exit_scan)
            } else {
                Err(STANDS_STILL.into())
            };
            match scan {
                Ok(scan) => backlog.push(scan),
                Err(reason) => done.note(Err(reason)),
            }
        }
        backlog.finish(|answer| done.note(answer));
        done
    }

    fn note(&mut self, scanned: Answer) {
        match scanned {
            Ok(told) => debug!("at its end: {told}"),
            Err(reason) => {
                debug!("at its end: {reason}");
                self.failed += 1;
                if self.reason.is_empty() {
                    self.reason = reason;
                }
            }
        }
    }

    /// Remark for the user, if scans failed.
    pub(crate) fn remark(&self) -> Option<String> {
        let count = match self.failed {
            0 => return None,
            1 => "One process was".to_string(),
            count => format!("{count} processes were"),
        };
        Some(format!("{count} not scanned at the end: {}.", self.reason))
    }
}
