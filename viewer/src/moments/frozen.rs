//! The blocks and mappings of processes as they were when their memory was scanned.
//!
//! One pass over all events sees every scan: what a process holds is followed, and put aside when the first event of it comes that was
//! later than its scan. The rest of the pass tells which of these blocks were freed after all.

use crate::analysis::{Birth, Death, End, Instant, Life, Watch};
use crate::graph::{HeldBlock, Memory};
use capture::{Action, Event, ProcessId, Scan, Tables};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What a process held when it was scanned.
#[derive(Debug, Default)]
pub(super) struct Frozen {
    /// The blocks whose beginnings are known.
    pub(super) blocks: Vec<HeldBlock>,
    /// Addresses of those of them that were freed later.
    pub(super) freed: HashSet<u64>,
    /// Whose memory was which.
    pub(super) memory: Memory,
    /// Events of the process had been lost, or it had not wanted to be recorded: there may be blocks that are not known.
    pub(super) is_interrupted: bool,
}

/// A process on the way to its scan.
#[derive(Debug)]
struct Followed {
    /// The place of its scan among the capture's.
    scan: usize,
    time: u64,
    blocks: HashMap<u64, HeldBlock>,
    frozen: Frozen,
    is_frozen: bool,
}

/// Observes a pass over all events for what processes held when they were scanned, each once.
#[derive(Debug)]
pub(super) struct Freezer {
    /// By thread, whose it is.
    processes: Vec<ProcessId>,
    followed: HashMap<ProcessId, Followed>,
}

impl Freezer {
    /// For these of the capture's scans, which are of different processes.
    pub(super) fn new<'s>(tables: &Tables, scans: impl Iterator<Item = (usize, &'s Scan)>) -> Self {
        let follow = |(scan, row): (usize, &Scan)| {
            let (blocks, frozen) = Default::default();
            (row.process, Followed { scan, time: row.time, blocks, frozen, is_frozen: false })
        };
        let processes = tables.threads.iter().map(|thread| thread.process).collect();
        Self { processes, followed: scans.map(follow).collect() }
    }

    /// What they held, by the places of the scans.
    pub(super) fn finish(mut self) -> BTreeMap<usize, Frozen> {
        self.followed.values_mut().for_each(Followed::freeze);
        self.followed.into_values().map(|followed| (followed.scan, followed.frozen)).collect()
    }

    /// A process that was not scanned yet at this time; one that was is frozen from then on.
    fn before(&mut self, process: ProcessId, at: Instant) -> Option<&mut Followed> {
        let followed = self.followed.get_mut(&process)?;
        if at.time > followed.time {
            followed.freeze();
        }
        Some(followed).filter(|followed| !followed.is_frozen)
    }
}

impl Followed {
    fn freeze(&mut self) {
        if !std::mem::replace(&mut self.is_frozen, true) {
            self.frozen.blocks = std::mem::take(&mut self.blocks).into_values().collect();
        }
    }
}

impl Watch for Freezer {
    /// True of a block that was there when its process was scanned, as far as that is known when it is born.
    type Kept = bool;

    fn born(&mut self, birth: &Birth, _: Option<&Life<bool>>) -> bool {
        let Birth { process, thread, node, address, size, .. } = *birth;
        let Some(followed) = self.before(process, birth.at) else { return false };
        followed.blocks.insert(address, HeldBlock { address, size, node, thread });
        true
    }

    fn died(&mut self, life: &Life<bool>, death: &Death) {
        if let Some(followed) = self.before(life.process, death.at) {
            // What is left was there.
            if !matches!(death.end, End::Left { .. }) {
                followed.blocks.remove(&life.address);
            }
        } else if let Some(followed) = self.followed.get_mut(&life.process)
            && life.kept
            && matches!(death.end, End::Freed { .. } | End::Resized { .. })
        {
            followed.frozen.freed.insert(life.address);
        }
    }

    fn event(&mut self, at: Instant, event: &Event) {
        let Some(&process) = self.processes.get(event.thread.index()) else { return };
        let Some(followed) = self.before(process, at) else { return };
        let Frozen { memory, is_interrupted, .. } = &mut followed.frozen;
        memory.pages.note(&event.action);
        memory.has_own_break |= matches!(event.action, Action::Break { .. });
        if matches!(event.action, Action::GapBegin | Action::Pause) {
            // Blocks of before may be gone meanwhile.
            *is_interrupted = true;
            followed.blocks.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Load;
    use capture::{FrameId, Node, NodeId, Process, Thread, ThreadId};

    /// Check that blocks are those of the scan's moment, that later frees of them are known, and that a pause makes all of before
    /// doubtful.
    #[test]
    fn blocks_are_those_of_the_moment() {
        let tables = Tables {
            processes: vec![Process::default(); 2],
            threads: (0..2)
                .map(|process| Thread { process: ProcessId(process), ..Thread::default() })
                .collect(),
            nodes: vec![Node { parent: NodeId::ROOT, frame: FrameId(0) }; 2],
            ..Tables::default()
        };
        let scans = [0, 1].map(|process| Scan { process: ProcessId(process), time: 50, ..Scan::default() });
        let mut load = Load::watched(&tables, Freezer::new(&tables, scans.iter().enumerate()));
        let alloc = |address| Action::Alloc { address, size: 8, alignment: 0, stack: NodeId(1) };
        let free = |address| Action::Free { address, stack: NodeId::ROOT };
        for (time, thread, action) in [
            (1, 0, Action::ProcessStart { process: ProcessId(0), fork: 0 }),
            (1, 1, Action::ProcessStart { process: ProcessId(1), fork: 0 }),
            (10, 0, alloc(0x100)),
            (11, 0, alloc(0x200)),
            (12, 0, alloc(0x300)),
            (13, 0, free(0x200)),
            (20, 1, alloc(0x100)),
            (21, 1, Action::Pause),
            (22, 1, Action::Resume),
            (23, 1, alloc(0x400)),
            (60, 0, free(0x100)),
            (61, 0, alloc(0x100)),
            (62, 0, free(0x100)),
            (63, 1, alloc(0x500)),
        ] {
            load.event(&Event { time, thread: ThreadId(thread), action });
        }
        let (_, freezer) = load.finish_watched();
        let frozen = freezer.finish();
        let addresses = |scan: usize| {
            let mut addresses: Vec<u64> = frozen[&scan].blocks.iter().map(|block| block.address).collect();
            addresses.sort_unstable();
            addresses
        };
        assert_eq!((addresses(0), addresses(1)), (vec![0x100, 0x300], vec![0x400]));
        assert_eq!(frozen[&0].freed, HashSet::from([0x100]));
        assert_eq!((frozen[&0].is_interrupted, frozen[&1].is_interrupted), (false, true));
    }
}
