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
use crate::base::clock::Clock;
use crate::base::log::debug;
use crate::image::{Image, ImageId};
use crate::proc::numbers::Roll;
use crate::writer::writing::Written;
use rustix::thread::futex;
use std::sync::{Arc, mpsc};

/// Identifies a process within the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) image: ImageId,
    pub(crate) slot: u32,
    /// The pid it tells.
    pub(crate) told: u32,
}

/// A process that waits until this is dropped.
#[derive(Debug)]
pub(crate) struct ExitScan {
    image: Arc<Image>,
    slot: u32,
    told: u32,
}

impl ExitScan {
    /// The process in a slot, if it waits and has not been noticed yet.
    pub(crate) fn take(image: &Arc<Image>, slot: u32) -> Option<ExitScan> {
        let segment = image.memory.segment();
        let there = segment.slots().get(slot as usize).filter(|slot| slot.take_parting())?;
        let told = there.owner().map_or(0, |(told, _)| told);
        Some(ExitScan { image: image.clone(), slot, told })
    }

    /// Identifies the process.
    pub(crate) fn place(&self) -> Place {
        Place { image: self.image.id, slot: self.slot, told: self.told }
    }

    /// Its pid in our namespace, while it exists.
    pub(crate) fn pid(&self, clock: Clock) -> Option<u32> {
        let segment = self.image.memory.segment();
        let (told, _) = segment.slots().get(self.slot as usize)?.owner()?;
        if told != self.told {
            return None;
        }
        let met = self.image.occupant(self.slot, told);
        // A process that has recorded nothing was not met yet.
        let occupant = met.unwrap_or_else(|| self.image.meet(self.slot, told, clock.now()));
        self.image.find(&occupant, &mut Roll::new(clock))
    }

    /// False when the recording is over: the process does not wait for that.
    fn is_recorded(&self) -> bool {
        self.image.memory.control().is_recording()
    }
}

impl Drop for ExitScan {
    fn drop(&mut self) {
        let segment = self.image.memory.segment();
        let Some(slot) = segment.slots().get(self.slot as usize) else { return };
        if slot.let_part() {
            // Several of its threads may wait.
            let _ =
                futex::wake(crate::image::memory::low_half(&slot.parting), futex::Flags::empty(), EVERYBODY);
        }
    }
}

/// Wakes all waiters of a futex.
const EVERYBODY: u32 = i32::MAX as u32;

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
