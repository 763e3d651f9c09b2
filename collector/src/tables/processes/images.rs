//! Live images, and ones that ended lately.

use crate::image::ImageId;
use crate::image::exit_scan::Place;
use crate::proc::process;
use capture::{Process, ProcessId, ThreadId};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::time::Instant;

/// Most ended images that stay known: their children, and the images that follow them, may be reported after they
/// ended. A recording that runs for days starts any number of images.
pub(super) const ENDED: usize = 4096;

/// The clock's rate is measured ever more precisely, so converting the same time early and late in a recording may
/// differ by this many nanoseconds at most. No pid is reused that soon.
const SLACK: u64 = 1_000_000;

/// An image that is live, or ended lately.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) process: Process,
    /// When it was first heard of, in nanoseconds of the recording.
    pub(super) start: u64,
    /// The slot it has or had, with the pid in its own namespace.
    pub(super) slot: (ImageId, u32, u32),
    pub(super) last_thread: Option<ThreadId>,
    /// The previous image with the same pid.
    pub(super) before: Option<ProcessId>,
    /// Ids of ended threads, for reuse.
    pub(super) spare: Vec<ThreadId>,
    /// Ids of its threads, if they differ in our namespace.
    pub(super) threads: process::Threads,
}

impl Known {
    pub(super) fn thread_name(&mut self, tid: u32) -> String {
        let (pid, (_, _, ns_pid)) = (self.process.pid, self.slot);
        if ns_pid == pid { process::thread_name(pid, tid) } else { self.threads.name(pid, tid) }
    }
}

/// The known images.
#[derive(Debug, Default)]
pub(super) struct Images {
    known: FxHashMap<ProcessId, Known>,
    /// Ended images, first ended first, with the time we heard of it.
    ended: VecDeque<(Instant, ProcessId)>,
    /// Number of images so far.
    count: usize,
    /// The process that began the recording stays known, since its end is reported last.
    first_pid: Option<u32>,
    /// Latest image by pid.
    by_pid: FxHashMap<u32, ProcessId>,
    by_slot: FxHashMap<(ImageId, u32, u32), ProcessId>,
}

impl Images {
    /// Adds an image, with its pid in our namespace. `None` if it is gone: its pid there may be another process's
    /// here.
    pub(super) fn add(&mut self, id: ProcessId, pid: Option<u32>, mut known: Known) {
        self.count += 1;
        self.first_pid = self.first_pid.or(Some(known.process.pid));
        if let Some(pid) = pid {
            known.before = self.by_pid.insert(pid, id);
        }
        self.by_slot.insert(known.slot, id);
        self.known.insert(id, known);
    }

    pub(super) fn get(&self, id: ProcessId) -> Option<&Known> {
        self.known.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: ProcessId) -> Option<&mut Known> {
        self.known.get_mut(&id)
    }

    pub(super) fn process(&self, id: ProcessId) -> Option<&Process> {
        self.get(id).map(|known| &known.process)
    }

    /// The latest image that has or had a pid.
    pub(super) fn latest(&self, pid: u32) -> Option<ProcessId> {
        self.by_pid.get(&pid).copied()
    }

    /// The image that has or had this place.
    pub(super) fn in_place(&self, place: Place) -> Option<ProcessId> {
        self.by_slot.get(&(place.image, place.slot, place.ns_pid)).copied()
    }

    /// The image that the capture names by this pid, which is its own where ours is not known, and had it at this time.
    pub(super) fn by_recorded_pid(&self, pid: u32, time: u64) -> Option<ProcessId> {
        let images = self.known.iter().filter(|(_, known)| known.process.pid == pid && known.start <= time);
        images.map(|(id, _)| *id).max()
    }

    /// The image that had this pid in our namespace at this time, even if later ones have it now.
    pub(super) fn by_kernel_pid(&self, pid: u32, time: u64) -> Option<ProcessId> {
        let known = |id: ProcessId| Some((id, self.known.get(&id)?));
        let latest = self.latest(pid).and_then(known);
        let mut images = std::iter::successors(latest, |(_, image)| known(image.before?));
        images.find(|(_, image)| image.start <= time + SLACK).map(|(id, _)| id)
    }

    /// All known images, in order.
    pub(super) fn in_order(&self) -> impl Iterator<Item = (ProcessId, &Known)> {
        let mut all: Vec<_> = self.known.iter().map(|(id, known)| (*id, known)).collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        all.into_iter()
    }

    /// Number of images so far.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Notes that an image has ended.
    pub(super) fn end(&mut self, id: ProcessId) {
        self.ended.push_back((Instant::now(), id));
    }

    /// True when [`Images::forget`] has something to do.
    pub(super) fn are_many(&self, before: Option<Instant>) -> bool {
        let is_due = |(ended, _): &(Instant, ProcessId)| before.is_none_or(|before| *ended < before);
        self.ended.len() > ENDED && self.ended.front().is_some_and(is_due)
    }

    /// Forgets the images that ended first while there are too many; with `before`, only those that ended before
    /// that.
    pub(super) fn forget(&mut self, before: Option<Instant>) {
        while self.are_many(before) {
            let Some((_, id)) = self.ended.pop_front() else { return };
            let Some(known) = self.known.remove(&id) else { continue };
            let pid = known.process.pid;
            if Some(pid) == self.first_pid && self.latest(pid) == Some(id) {
                self.known.insert(id, known);
                continue;
            }
            // Both may belong to a later image by now.
            if self.latest(pid) == Some(id) {
                self.by_pid.remove(&pid);
            }
            if self.by_slot.get(&known.slot) == Some(&id) {
                self.by_slot.remove(&known.slot);
            }
        }
    }

    /// Sizes of the tables.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> [usize; 3] {
        [self.known.len(), self.by_pid.len(), self.by_slot.len()]
    }
}
