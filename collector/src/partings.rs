//! Processes that wait at their end to be scanned.
//!
//! ```text
//!  agent     parting = 1, record of the exit, waits ·························· goes on, and is gone
//!  writer                                   reads the record ─► partings
//!  scan                                                         scans, passes on what it found, parting = 2
//! ```
//!
//! What a process has written before its end is in the capture before the scan is, as for every other one. A process waits for nothing
//! but the search itself; where that cannot be it goes on at once.

use crate::desk::Desk;
use crate::image::Image;
use crate::log::debug;
use rustix::thread::futex;
use std::sync::{Arc, mpsc};

/// A process that waits, until this is dropped.
pub(crate) struct Parting {
    image: Arc<Image>,
    slot: u32,
}

impl Parting {
    /// The process in a slot, if it waits.
    pub(crate) fn of(image: &Arc<Image>, slot: u32) -> Option<Parting> {
        let waits = image.memory.segment().slots().get(slot as usize)?.is_parting();
        waits.then(|| Parting { image: image.clone(), slot })
    }

    /// Its pid here.
    fn pid(&self) -> Option<u32> {
        let segment = self.image.memory.segment();
        let (told, _) = segment.slots().get(self.slot as usize)?.owner()?;
        self.image.pid_of(self.slot, told)
    }
}

impl Drop for Parting {
    fn drop(&mut self) {
        let segment = self.image.memory.segment();
        let Some(slot) = segment.slots().get(self.slot as usize) else { return };
        if slot.let_part() {
            let _ = futex::wake(crate::memory::low_half(&slot.parting), futex::Flags::empty(), 1);
        }
    }
}

/// What became of the scans at ends.
#[derive(Debug, Default)]
pub(crate) struct Partings {
    failed: u64,
    /// Why the first of them did.
    reason: String,
}

impl Partings {
    /// Scans each process that comes, until none can come any more.
    pub(crate) fn serve(partings: &mpsc::Receiver<Parting>, desk: &Desk) -> Partings {
        let mut done = Partings::default();
        for parting in partings {
            let scanned = match parting.pid() {
                Some(pid) => desk.scan_and(pid, || drop(parting)),
                None => Err("a process that was about to end is gone".into()),
            };
            match scanned {
                Ok(told) => debug!("at its end: {told}"),
                Err(reason) => {
                    debug!("at its end: {reason}");
                    done.failed += 1;
                    if done.reason.is_empty() {
                        done.reason = reason;
                    }
                }
            }
        }
        done
    }

    /// For the user.
    pub(crate) fn remark(&self) -> Option<String> {
        let count = match self.failed {
            0 => return None,
            1 => "One process was".to_string(),
            count => format!("{count} processes were"),
        };
        Some(format!("{count} not scanned at the end: {}.", self.reason))
    }
}
