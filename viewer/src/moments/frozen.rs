//! The blocks and mappings of processes as they were when their memory was scanned.
//!
//! One pass over all events sees every scan: what a process holds is followed, and put aside when the first event of it comes that was
//! later than its scan. The rest of the pass tells which of these blocks were freed after all.

use crate::analysis::{Birth, Death, End, Instant, Life, Watch};
use crate::graph::{HeldBlock, Memory};
use capture::{Action, Event, ProcessId, Scan, Tables};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::num::NonZeroU32;

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
    slots: Vec<Slot>,
    /// Places of slots without a block.
    free: Vec<u32>,
    /// Interruptions so far: blocks from before the last one may have been freed when nobody saw it.
    interruptions: u64,
    frozen: Frozen,
    is_frozen: bool,
}

/// Room for a block, until it is gone.
#[derive(Clone, Copy, Debug)]
struct Slot {
    block: HeldBlock,
    /// Interruptions before its birth; [`GONE`] when it is gone.
    interruptions: u64,
}

const GONE: u64 = u64::MAX;

/// The place of a slot, one more than its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place(NonZeroU32);

impl Place {
    fn new(number: u32) -> Option<Self> {
        number.checked_add(1).and_then(NonZeroU32::new).map(Self)
    }

    fn number(self) -> u32 {
        self.0.get() - 1
    }

    fn index(self) -> usize {
        self.number() as usize
    }
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
            let followed = Followed {
                scan,
                time: row.time,
                slots: Vec::new(),
                free: Vec::new(),
                interruptions: 0,
                frozen: Frozen::default(),
                is_frozen: false,
            };
            (row.process, followed)
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
            let slots = std::mem::take(&mut self.slots).into_iter();
            let known = slots.filter(|slot| slot.interruptions == self.interruptions);
            self.frozen.blocks = known.map(|slot| slot.block).collect();
            self.free = Vec::new();
        }
    }

    /// The place of a new block; `None` when there are as many as there can be.
    fn add(&mut self, block: HeldBlock) -> Option<Place> {
        let slot = Slot { block, interruptions: self.interruptions };
        if let Some(place) = self.free.pop() {
            *self.slots.get_mut(place as usize)? = slot;
            return Place::new(place);
        }
        let place = Place::new(u32::try_from(self.slots.len()).ok()?)?;
        self.slots.push(slot);
        Some(place)
    }

    fn remove(&mut self, place: Place) {
        if let Some(slot) = self.slots.get_mut(place.index()) {
            slot.interruptions = GONE;
            self.free.push(place.number());
        }
    }
}

impl Watch for Freezer {
    /// Where it is, for a block that was born before its process was scanned.
    type Kept = Option<Place>;

    fn born(&mut self, birth: &Birth, _: Option<&Life<Option<Place>>>) -> Option<Place> {
        let Birth { process, thread, node, address, size, .. } = *birth;
        self.before(process, birth.at)?.add(HeldBlock { address, size, node, thread })
    }

    fn died(&mut self, life: &Life<Option<Place>>, death: &Death) {
        let Some(place) = life.kept else { return };
        if let Some(followed) = self.before(life.process, death.at) {
            // What is left was there.
            if !matches!(death.end, End::Left { .. }) {
                followed.remove(place);
            }
        } else if let Some(followed) = self.followed.get_mut(&life.process)
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
            *is_interrupted = true;
            followed.interruptions += 1;
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
