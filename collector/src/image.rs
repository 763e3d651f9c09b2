//! One executed image of a process, together with the children it forked: one shared segment.
//!
//! | file | what it has |
//! |---|---|
//! | `memory` | the two memfds of an image, sealed and mapped |
//! | `slot_process` | a process in a slot |
//! | `known_images` | the images that may still be live, to notice when a process of theirs connects again after an exec |
//! | `namespace_pids` | which processes came out of processes that were not looked up in time |
//! | `watcher` | the thread that learns when processes are gone, or have executed another program |
//! | `liveness` | how agents notice that the collector is gone |
//! | `wakeup` | wakes the drain thread |
//! | `exit_scan` | a process that waits at exit to be scanned |

pub(crate) mod exit_scan;
pub(crate) mod known_images;
pub(crate) mod liveness;
#[expect(unsafe_code, reason = "maps the memory that is shared with agents")]
pub(crate) mod memory;
pub(crate) mod namespace_pids;
pub(crate) mod slot_process;
pub(crate) mod wakeup;
pub(crate) mod watcher;

use crate::proc::pid_map::{PidMap, ProcScan};
use crate::proc::process::{self, Info};
use liveness::Liveness;
use memory::Memory;
use namespace_pids::NamespacePids;
use rustc_hash::FxHashMap;
use slot_process::SlotProcess;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use wakeup::Wakeup;

/// Number of an image in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ImageId(pub(crate) u32);

/// How a process ended, as seen by the watcher or the listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The process is gone; its wait status, if that could still be read.
    Gone(Option<i32>),
    /// It executed another program.
    Exec,
    /// The recording ended before anybody reported the process gone: see [`Image::end_by_now`].
    Running,
}

// One word per slot, 0 while nothing is known: the ns_pid in the high half, the wait status in bits 8 to 23, flags
// below. The pid is included because slots are reused: news of the previous owner must not end the next.
const GONE: u64 = 1;
const EXEC: u64 = 2;
const HAS_STATUS: u64 = 4;

/// An image. Shared by the session's threads; only the drain thread touches its rings.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) id: ImageId,
    pub(crate) memory: Memory,
    /// The process that connected.
    pub(crate) info: Info,
    /// Finds its processes here by their pids in their namespace.
    pid_map: PidMap,
    /// What has become of those that were not looked up in time.
    namespace_pids: Arc<NamespacePids>,
    /// The present or last process of each slot.
    slot_processes: Mutex<FxHashMap<u32, Arc<SlotProcess>>>,
    liveness: Arc<Liveness>,
    /// Wakes the drain thread.
    wakeup: Arc<Wakeup>,
    /// Ends of processes, by slot: written by watcher and listener, taken by the drain thread.
    ends: Vec<AtomicU64>,
    /// The process that connected is gone; its children are still recorded.
    is_over: AtomicBool,
    /// A forked process was met.
    has_forked: AtomicBool,
}

impl Image {
    pub(crate) fn new(
        id: ImageId,
        memory: Memory,
        info: Info,
        namespace_pids: Arc<NamespacePids>,
        liveness: Arc<Liveness>,
        wakeup: Arc<Wakeup>,
    ) -> Arc<Image> {
        let slots = memory.geometry().slot_count();
        liveness.add(&memory.control());
        let ends = (0..slots).map(|_| AtomicU64::new(0)).collect();
        let (is_over, has_forked) = (AtomicBool::new(false), AtomicBool::new(false));
        let pid_map = PidMap::of(&info);
        let first = Arc::new(SlotProcess::found(info.ns_pid, info.pid));
        let slot_processes = Mutex::new(FxHashMap::from_iter([(0, first)]));
        Arc::new(Image {
            id,
            memory,
            info,
            pid_map,
            namespace_pids,
            slot_processes,
            liveness,
            wakeup,
            ends,
            is_over,
            has_forked,
        })
    }

    /// Notes that a process has had a slot since `time`, in shifted ticks.
    pub(crate) fn meet(&self, slot: u32, ns_pid: u32, time: u64) -> Arc<SlotProcess> {
        let is_first = ns_pid == self.info.ns_pid;
        let slot_process = if is_first {
            SlotProcess::found(ns_pid, self.info.pid)
        } else {
            let claimed = self.memory.segment().slots().get(slot as usize);
            // Relaxed: written before the record by which the process was met.
            let parent = claimed.and_then(|claimed| {
                Some((claimed.owner()?.1?, (claimed.fork.load(Ordering::Relaxed) >> 32) as u32))
            });
            SlotProcess::met(ns_pid, time, parent)
        };
        let slot_process = Arc::new(slot_process);
        if let Ok(mut slot_processes) = self.slot_processes.lock() {
            // The previous process of the slot is gone.
            slot_processes.insert(slot, slot_process.clone());
        }
        slot_process
    }

    /// Notes that a forked process was met.
    pub(crate) fn note_fork(self: &Arc<Image>) {
        // Relaxed: only the drain thread asks.
        if !self.has_forked.swap(true, Ordering::Relaxed) {
            self.namespace_pids.forked.note(self);
        }
    }

    /// The process in a slot that has this pid in its namespace, if the drain thread has met it.
    pub(crate) fn slot_process(&self, slot: u32, ns_pid: u32) -> Option<Arc<SlotProcess>> {
        let slot_processes = self.slot_processes.lock().ok()?;
        slot_processes.get(&slot).filter(|slot_process| slot_process.ns_pid() == ns_pid).cloned()
    }

    /// The process's pid in our namespace; `None` when it is gone. May wait for `/proc`.
    pub(crate) fn find(&self, slot_process: &SlotProcess, scan: &mut ProcScan) -> Option<u32> {
        slot_process.find(|| {
            let parent = slot_process.parent().and_then(|(slot, ns_pid)| self.pid_of(slot, ns_pid));
            let (ns_pid, since) = (slot_process.ns_pid(), slot_process.since());
            let later = || self.namespace_pids.find(ns_pid, parent?, since);
            // A look at all processes takes long enough for some to connect, and to end.
            later().or_else(|| self.pid_map.find(ns_pid, since, parent, scan)).or_else(later)
        })
    }

    /// The pid in our namespace of a process that was met and looked up.
    pub(crate) fn pid_of(&self, slot: u32, ns_pid: u32) -> Option<u32> {
        self.slot_process(slot, ns_pid)?.pid()
    }

    /// How the present or last process in a slot stands right now. May wait for `/proc`.
    pub(crate) fn end_by_now(&self, slot: u32, scan: &mut ProcScan) -> End {
        let last =
            self.slot_processes.lock().ok().and_then(|slot_processes| slot_processes.get(&slot).cloned());
        let pid = last.and_then(|slot_process| self.find(&slot_process, scan));
        pid.map_or(End::Gone(None), |pid| watcher::end_by_now(self, pid))
    }

    /// True when the process with this pid in our namespace has a slot, whether it connected or was forked, and even
    /// if nothing of it was read yet.
    pub(crate) fn has(&self, pid: u32) -> bool {
        let used = self.memory.segment().header().slots_used.load(Ordering::Acquire);
        let mut slots = (0..used).zip(self.memory.segment().slots());
        slots.any(|(index, slot)| {
            slot.owner().is_some_and(|(ns_pid, _)| match self.pid_of(index, ns_pid) {
                Some(met) => met == pid,
                None => self.pid_map.is(ns_pid, pid) && self.is_mapped_by(pid),
            })
        })
    }

    /// Notes that the process in a slot, with this pid in its namespace, is gone.
    pub(crate) fn gone(&self, slot: u32, ns_pid: u32, status: Option<i32>) {
        let status = status.map_or(0, |status| HAS_STATUS | u64::from(status as u16) << 8);
        self.end(slot, u64::from(ns_pid) << 32 | status | GONE);
    }

    /// False when the process with this pid in our namespace does not map our memory: it executed another program, or
    /// is another process.
    pub(crate) fn is_mapped_by(&self, pid: u32) -> bool {
        self.memory.id().map_or(true, |segment| process::maps_this(pid, segment))
    }

    /// Notes that the process with this pid in our namespace executed another program. What it wrote before may still
    /// lie unread in its ring.
    pub(crate) fn execed(&self, pid: u32) {
        let used = self.memory.segment().header().slots_used.load(Ordering::Acquire) as usize;
        if used <= 1 && self.info.pid != pid && !self.is_over() {
            // Nobody but the process that connected: most never fork, and all are asked whenever one connects.
            return;
        }
        for (index, slot) in self.memory.segment().slots().iter().enumerate().take(used) {
            if let Some((ns_pid, _)) = slot.owner()
                && self
                    .pid_of(index as u32, ns_pid)
                    .map_or_else(|| self.pid_map.is(ns_pid, pid), |met| met == pid)
            {
                self.end(index as u32, u64::from(ns_pid) << 32 | EXEC);
            }
        }
    }

    fn end(&self, slot: u32, word: u64) {
        if slot == 0 {
            // Relaxed: a flag.
            self.is_over.store(true, Ordering::Relaxed);
        }
        let Some(end) = self.ends.get(slot as usize) else { return };
        // Release pairs with the Acquire swap in `take_end`: whoever sees that the process is gone sees all that it
        // wrote. The first reason stands, unless it concerns an earlier owner.
        let _ = end.fetch_update(Ordering::Release, Ordering::Relaxed, |known| {
            (known >> 32 != word >> 32).then_some(word)
        });
        self.wakeup.notify_of(self.id);
    }

    /// Tells the agents that the recording is over.
    pub(crate) fn close(&self) {
        // Relaxed: a flag; agents see it at their next hook.
        self.memory.control().header().recording.store(0, Ordering::Relaxed);
    }

    /// True when the process that connected is gone.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Takes the end of the process in a slot, if there is one.
    pub(crate) fn take_end(&self, slot: u32) -> Option<End> {
        let end = self.ends.get(slot as usize)?;
        if end.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let word = end.swap(0, Ordering::Acquire);
        let (owner, _) = self.memory.segment().slots().get(slot as usize)?.owner()?;
        if u64::from(owner) != word >> 32 {
            return None;
        }
        match word & 3 {
            GONE => Some(End::Gone((word & HAS_STATUS != 0).then_some((word >> 8 & 0xFFFF) as i32))),
            EXEC => Some(End::Exec),
            _ => None,
        }
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        // The kernel must not find the memory in the robust list once it is unmapped.
        self.liveness.remove(&self.memory.control());
    }
}
