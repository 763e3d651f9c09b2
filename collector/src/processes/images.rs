//! Images that live, or have ended lately.

use crate::exit_scans::Place;
use crate::image::ImageId;
use crate::process;
use capture::{Process, ProcessId, ThreadId};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::time::Instant;

/// So many images that have ended are known on: their children, and the images that follow them, are told of after their ends. What is
/// recorded for days starts any number.
pub(super) const ENDED: usize = 4096;

/// Times of the beginning and the end of a recording are this many nanoseconds apart at most when they are converted, since its
/// clock's rate is measured better and better. No pid is used again so soon.
const SLACK: u64 = 1_000_000;

/// An image that lives, or has ended lately.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) process: Process,
    /// When it was first heard of, in nanoseconds of the recording.
    pub(super) start: u64,
    /// The slot that it has or had, with the pid in its own namespace.
    pub(super) slot: (ImageId, u32, u32),
    pub(super) last_thread: Option<ThreadId>,
    /// The image that had its pid before.
    pub(super) before: Option<ProcessId>,
    /// Ids of threads that have ended, for others.
    pub(super) spare: Vec<ThreadId>,
    /// The numbers of its threads, where these are others here.
    pub(super) threads: process::Threads,
}

impl Known {
    pub(super) fn thread_name(&mut self, tid: u32) -> String {
        let (pid, (_, _, told)) = (self.process.pid, self.slot);
        if told == pid { process::thread_name(pid, tid) } else { self.threads.name(pid, tid) }
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Images {
    known: FxHashMap<ProcessId, Known>,
    /// Those that have ended, the first one first, and when that was heard of.
    ended: VecDeque<(Instant, ProcessId)>,
    /// How many there ever were.
    count: usize,
    /// The process that began the recording: how it ends is told last.
    first_pid: Option<u32>,
    /// Latest image by pid.
    by_pid: FxHashMap<u32, ProcessId>,
    by_slot: FxHashMap<(ImageId, u32, u32), ProcessId>,
}

impl Images {
    /// A new one, which has this pid here; what has the number of one that is gone may be anybody.
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

    /// The latest one that has or had a pid.
    pub(super) fn latest(&self, pid: u32) -> Option<ProcessId> {
        self.by_pid.get(&pid).copied()
    }

    /// The one that has or had a place.
    pub(super) fn in_place(&self, place: Place) -> Option<ProcessId> {
        self.by_slot.get(&(place.image, place.slot, place.told)).copied()
    }

    /// The one that had a pid at a time.
    pub(super) fn at(&self, pid: u32, time: u64) -> Option<ProcessId> {
        let images = self.known.iter().filter(|(_, known)| known.process.pid == pid && known.start <= time);
        images.map(|(id, _)| *id).max()
    }

    /// The one that had a pid at a time, by whoever asks when others may have it.
    pub(super) fn that_had(&self, pid: u32, time: u64) -> Option<ProcessId> {
        let known = |id: ProcessId| Some((id, self.known.get(&id)?));
        let latest = self.latest(pid).and_then(known);
        let mut images = std::iter::successors(latest, |(_, image)| known(image.before?));
        images.find(|(_, image)| image.start <= time + SLACK).map(|(id, _)| id)
    }

    /// All that are known, in order.
    pub(super) fn in_order(&self) -> impl Iterator<Item = (ProcessId, &Known)> {
        let mut all: Vec<_> = self.known.iter().map(|(id, known)| (*id, known)).collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        all.into_iter()
    }

    /// How many there ever were.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// One has ended.
    pub(super) fn end(&mut self, id: ProcessId) {
        self.ended.push_back((Instant::now(), id));
    }

    /// True when some can be forgotten, as [`Images::forget`] does.
    pub(super) fn are_many(&self, before: Option<Instant>) -> bool {
        let is_due = |(ended, _): &(Instant, ProcessId)| before.is_none_or(|before| *ended < before);
        self.ended.len() > ENDED && self.ended.front().is_some_and(is_due)
    }

    /// Forgets those that ended first, while there are too many; only what ended before a moment, where one is given.
    pub(super) fn forget(&mut self, before: Option<Instant>) {
        while self.are_many(before) {
            let Some((_, id)) = self.ended.pop_front() else { return };
            let Some(known) = self.known.remove(&id) else { continue };
            let pid = known.process.pid;
            if Some(pid) == self.first_pid && self.latest(pid) == Some(id) {
                self.known.insert(id, known);
                continue;
            }
            // Both may be of a later one by now.
            if self.latest(pid) == Some(id) {
                self.by_pid.remove(&pid);
            }
            if self.by_slot.get(&known.slot) == Some(&id) {
                self.by_slot.remove(&known.slot);
            }
        }
    }

    /// Entries of each table.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> [usize; 3] {
        [self.known.len(), self.by_pid.len(), self.by_slot.len()]
    }
}
