//! A process that waits at exit to be scanned.

use super::{Image, ImageId};
use crate::base::clock::Clock;
use crate::proc::pid_map::ProcScan;
use rustix::thread::futex;
use std::sync::Arc;

/// Identifies a process within the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) image: ImageId,
    pub(crate) slot: u32,
    /// Its pid in its own pid namespace.
    pub(crate) ns_pid: u32,
}

/// A process that waits until this is dropped.
#[derive(Debug)]
pub(crate) struct ExitScan {
    image: Arc<Image>,
    slot: u32,
    ns_pid: u32,
}

impl ExitScan {
    /// The process in a slot, if it waits and has not been noticed yet.
    pub(crate) fn take(image: &Arc<Image>, slot: u32) -> Option<ExitScan> {
        let segment = image.memory.segment();
        let there = segment.slots().get(slot as usize).filter(|slot| slot.take_parting())?;
        let ns_pid = there.owner().map_or(0, |(ns_pid, _)| ns_pid);
        Some(ExitScan { image: image.clone(), slot, ns_pid })
    }

    /// Identifies the process.
    pub(crate) fn place(&self) -> Place {
        Place { image: self.image.id, slot: self.slot, ns_pid: self.ns_pid }
    }

    /// Its pid in our namespace, while it exists.
    pub(crate) fn pid(&self, clock: Clock) -> Option<u32> {
        let segment = self.image.memory.segment();
        let (ns_pid, _) = segment.slots().get(self.slot as usize)?.owner()?;
        if ns_pid != self.ns_pid {
            return None;
        }
        let met = self.image.slot_process(self.slot, ns_pid);
        // A process that has recorded nothing was not met yet.
        let slot_process = met.unwrap_or_else(|| self.image.meet(self.slot, ns_pid, clock.now()));
        self.image.find(&slot_process, &mut ProcScan::new(clock))
    }

    /// False when the recording is over: the process does not wait for that.
    pub(crate) fn is_recorded(&self) -> bool {
        self.image.memory.control().is_recording()
    }
}

impl Drop for ExitScan {
    fn drop(&mut self) {
        let segment = self.image.memory.segment();
        let Some(slot) = segment.slots().get(self.slot as usize) else { return };
        if slot.let_part() {
            // Several of its threads may wait.
            let _ = futex::wake(super::memory::low_half(&slot.parting), futex::Flags::empty(), EVERYBODY);
        }
    }
}

/// Wakes all waiters of a futex.
const EVERYBODY: u32 = i32::MAX as u32;
