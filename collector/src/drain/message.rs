//! What the drain thread tells the writer besides the records of rings.

use crate::image::slot_process::SlotProcess;
use crate::image::{End, Image, ImageId};
use shared_ring::process_slot::{Loss, ProcessSlot, UNKNOWN_INTERPRETER};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// One thing that happened.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// When, in shifted ticks.
    pub(crate) time: u64,
    /// In which image.
    pub(crate) image: ImageId,
    /// What happened.
    pub(crate) event: Lifecycle,
}

/// What happened.
#[derive(Clone, Debug)]
pub(crate) enum Lifecycle {
    /// An image was connected.
    Image(Arc<Image>),
    /// A process of the image has occupied a slot.
    Started(Arrival),
    /// A process of the image ended, and that was known at `since`, in shifted ticks.
    Ended { slot: u32, end: End, since: u64, counters: Box<Counters> },
    /// Nothing more will come of the image.
    Finished,
}

/// A process that has a slot of an image.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) slot: u32,
    pub(crate) slot_process: Arc<SlotProcess>,
    /// `None` for the process that connected.
    pub(crate) origin: Option<Origin>,
}

/// The origin of a forked process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Slot of its parent, which may be another process's by now.
    pub(crate) slot: u32,
    /// The pid that the parent had in that slot.
    pub(crate) pid: u32,
    /// Which of the parent's forks it was; 0 if the parent did not say.
    pub(crate) fork: u32,
}

/// Counters of a process slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Events lost, by [`Loss`].
    pub(crate) lost: [u64; Loss::ALL.len()],
    pub(crate) stack_table_full: u64,
    pub(crate) agent_allocations: u64,
    pub(crate) wait_ns: u64,
    pub(crate) timed_ticks: u64,
    pub(crate) timed_events: u64,
    /// Stacks without an interpreter's frames because these could not be read.
    pub(crate) unread_scripts: u64,
    /// Processes with an interpreter whose frames cannot be read; 0 or 1 in a slot.
    pub(crate) unknown_interpreters: u64,
}

impl Counters {
    pub(crate) fn read(slot: &ProcessSlot) -> Counters {
        let mut lost = [0; Loss::ALL.len()];
        for (to, from) in lost.iter_mut().zip(&slot.lost) {
            *to = from.load(Ordering::Relaxed);
        }
        let unread_scripts = slot.unread_scripts.load(Ordering::Relaxed);
        Counters {
            lost,
            stack_table_full: slot.stack_table_full.load(Ordering::Relaxed),
            agent_allocations: slot.agent_allocations.load(Ordering::Relaxed),
            wait_ns: slot.wait_ns.load(Ordering::Relaxed),
            timed_ticks: slot.timed_ticks.load(Ordering::Relaxed),
            timed_events: slot.timed_events.load(Ordering::Relaxed),
            unread_scripts: unread_scripts & !UNKNOWN_INTERPRETER,
            unknown_interpreters: u64::from(unread_scripts & UNKNOWN_INTERPRETER != 0),
        }
    }
}
