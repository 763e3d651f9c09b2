//! The blocks and mappings of processes as they were when their memory was scanned.
//!
//! One pass over all events sees every scan: what a process holds is followed, and put aside when the first event of it comes that was
//! later than a scan of it. The rest of the pass tells which of these blocks were freed after all.

use crate::analysis::{Birth, Death, End, Instant, Life, Watch};
use crate::graph::{HeldBlock, Memory};
use capture::{Action, Event, ProcessId, Scan, Tables};
use std::cmp::Reverse;
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

/// A process on the way to its scans.
#[derive(Debug, Default)]
struct Followed {
    /// Scans that are still to come, the next one last: their places among the capture's, and when they were.
    ahead: Vec<(usize, u64)>,
    /// What it held at those that have been, in their order, by the same places.
    frozen: Vec<(usize, Frozen)>,
    slots: Vec<Slot>,
    /// Places of slots without a block.
    free: Vec<u32>,
    /// Interruptions so far: blocks from before the last one may have been freed when nobody saw it.
    interruptions: u64,
    memory: Memory,
}

/// Room for a block, until it is gone.
#[derive(Clone, Copy, Debug)]
struct Slot {
    block: HeldBlock,
    /// Interruptions before its birth; [`GONE`] when it is gone.
    interruptions: u64,
}

const GONE: u64 = u64::MAX;

/// The place of a slot, one more than its number, and in the upper bits how many scans there had been when its block was born.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place(NonZeroU32);

impl Place {
    /// Bits of the place.
    const BITS: u32 = 30;

    fn new(number: usize, scans: usize) -> Option<Self> {
        let number = u32::try_from(number).ok().filter(|number| number + 1 < 1 << Self::BITS)?;
        let scans = u32::try_from(scans).ok().filter(|scans| *scans < 1 << (u32::BITS - Self::BITS))?;
        NonZeroU32::new(scans << Self::BITS | (number + 1)).map(Self)
    }

    fn number(self) -> u32 {
        (self.0.get() & ((1 << Self::BITS) - 1)) - 1
    }

    /// Scans before the birth.
    fn scans(self) -> usize {
        (self.0.get() >> Self::BITS) as usize
    }
}

/// Observes a pass over all events for what processes held when they were scanned.
#[derive(Debug)]
pub(super) struct Freezer {
    /// By thread, whose it is.
    processes: Vec<ProcessId>,
    followed: HashMap<ProcessId, Followed>,
}

impl Freezer {
    /// Scans of one process that are looked at in one pass, at most.
    pub(super) const TOGETHER: usize = 1 << (u32::BITS - Place::BITS);

    /// For these of the capture's scans, of which not more than [`Self::TOGETHER`] are of one process.
    pub(super) fn new<'s>(tables: &Tables, scans: impl Iterator<Item = (usize, &'s Scan)>) -> Self {
        let mut followed: HashMap<ProcessId, Followed> = HashMap::new();
        for (place, scan) in scans {
            followed.entry(scan.process).or_default().ahead.push((place, scan.time));
        }
        followed.values_mut().for_each(|followed| followed.ahead.sort_by_key(|&(_, time)| Reverse(time)));
        let processes = tables.threads.iter().map(|thread| thread.process).collect();
        Self { processes, followed }
    }

    /// What they held, by the places of the scans.
    pub(super) fn finish(mut self) -> BTreeMap<usize, Frozen> {
        self.followed.values_mut().for_each(|followed| followed.pass(u64::MAX));
        self.followed.into_values().flat_map(|followed| followed.frozen).collect()
    }

    /// A process with scans that are still to come; those that were before this are behind it from then on.
    fn before(&mut self, process: ProcessId, at: Instant) -> Option<&mut Followed> {
        let followed = self.followed.get_mut(&process)?;
        followed.pass(at.time);
        Some(followed).filter(|followed| !followed.ahead.is_empty())
    }
}

impl Followed {
    /// Puts aside what it held at the scans that were before a time; at its end, at all.
    fn pass(&mut self, time: u64) {
        while let Some((place, _)) = self.ahead.pop_if(|&mut (_, scanned)| scanned < time || time == u64::MAX)
        {
            let is_last = self.ahead.is_empty();
            let held = |slots: &[Slot]| {
                let known = slots.iter().filter(|slot| slot.interruptions == self.interruptions);
                known.map(|slot| slot.block).collect()
            };
            let frozen = Frozen {
                blocks: held(&self.slots),
                memory: if is_last { std::mem::take(&mut self.memory) } else { self.memory.clone() },
                is_interrupted: self.interruptions > 0,
                freed: HashSet::new(),
            };
            self.frozen.push((place, frozen));
            if is_last {
                (self.slots, self.free) = Default::default();
            }
        }
    }

    /// The place of a new block; `None` when there are as many as there can be.
    fn add(&mut self, block: HeldBlock) -> Option<Place> {
        let slot = Slot { block, interruptions: self.interruptions };
        if let Some(place) = self.free.pop() {
            *self.slots.get_mut(place as usize)? = slot;
            return Place::new(place as usize, self.frozen.len());
        }
        let place = Place::new(self.slots.len(), self.frozen.len())?;
        self.slots.push(slot);
        Some(place)
    }

    fn remove(&mut self, place: Place) {
        if let Some(slot) = self.slots.get_mut(place.number() as usize) {
            slot.interruptions = GONE;
            self.free.push(place.number());
        }
    }
}

impl Watch for Freezer {
    /// Where it is, for a block that was born before the last scan of its process.
    type Kept = Option<Place>;

    fn born(&mut self, birth: &Birth, _: Option<&Life<Option<Place>>>) -> Option<Place> {
        let Birth { process, thread, node, address, size, .. } = *birth;
        self.before(process, birth.at)?.add(HeldBlock { address, size, node, thread })
    }

    fn died(&mut self, life: &Life<Option<Place>>, death: &Death) {
        let Some((place, followed)) = life.kept.zip(self.followed.get_mut(&life.process)) else { return };
        followed.pass(death.at.time);
        if matches!(death.end, End::Freed { .. } | End::Resized { .. }) {
            for (_, frozen) in followed.frozen.iter_mut().skip(place.scans()) {
                frozen.freed.insert(life.address);
            }
        }
        // What is left was there.
        if !followed.ahead.is_empty() && !matches!(death.end, End::Left { .. }) {
            followed.remove(place);
        }
    }

    fn event(&mut self, at: Instant, event: &Event) {
        let Some(&process) = self.processes.get(event.thread.index()) else { return };
        let Some(followed) = self.before(process, at) else { return };
        let memory = &mut followed.memory;
        memory.pages.note(&event.action);
        memory.has_own_break |= matches!(event.action, Action::Break { .. });
        followed.interruptions += u64::from(matches!(event.action, Action::GapBegin | Action::Pause));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Load;
    use capture::{FrameId, Node, NodeId, Process, Thread, ThreadId};
    use proptest::prelude::*;

    /// Check that blocks are those of the scan's moment, that later frees of them are known, and that a pause makes all of before
    /// doubtful.
    #[test]
    fn blocks_are_those_of_the_moment() {
        let tables = tables(2);
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

    fn tables(processes: u32) -> Tables {
        Tables {
            processes: vec![Process::default(); processes as usize],
            threads: (0..processes)
                .map(|process| Thread { process: ProcessId(process), ..Thread::default() })
                .collect(),
            nodes: vec![Node { parent: NodeId::ROOT, frame: FrameId(0) }; 2],
            ..Tables::default()
        }
    }

    /// Blocks by address, those of them that were freed later, whether the process was interrupted, and whose a mapping is.
    type View = (Vec<u64>, Vec<u64>, bool, Option<bool>);

    /// What is found of these scans in one pass.
    fn found(events: &[Event], scans: &[(usize, Scan)]) -> BTreeMap<usize, View> {
        let tables = tables(2);
        let mut load =
            Load::watched(&tables, Freezer::new(&tables, scans.iter().map(|(place, scan)| (*place, scan))));
        events.iter().for_each(|event| load.event(event));
        let (_, freezer) = load.finish_watched();
        let view = |frozen: Frozen| {
            let mut blocks: Vec<u64> = frozen.blocks.iter().map(|block| block.address).collect();
            let mut freed: Vec<u64> =
                frozen.freed.into_iter().filter(|address| blocks.contains(address)).collect();
            blocks.sort_unstable();
            freed.sort_unstable();
            (blocks, freed, frozen.is_interrupted, frozen.memory.pages.owner(0x9000))
        };
        freezer.finish().into_iter().map(|(place, frozen)| (place, view(frozen))).collect()
    }

    proptest! {
        /// Check that several scans of each process find in one pass what each finds in a pass of its own.
        #[test]
        fn one_pass_sees_all_scans(
            events in prop::collection::vec((0..2_u32, 0..9_u8, 1..6_u64), 0..80),
            times in prop::collection::vec((0..2_u32, 0..90_u64), 1..9),
        ) {
            let mut all: Vec<Event> = (0..2)
                .map(|process| (process, Action::ProcessStart { process: ProcessId(process), fork: 0 }))
                .map(|(thread, action)| Event { time: 0, thread: ThreadId(thread), action })
                .collect();
            for (time, &(thread, kind, number)) in (1..).zip(&events) {
                let address = number << 8;
                let action = match kind {
                    0..4 => Action::Alloc { address, size: 8, alignment: 0, stack: NodeId(1) },
                    4..6 => Action::Free { address, stack: NodeId::ROOT },
                    6 => Action::Pause,
                    7 => Action::Resume,
                    _ => Action::Map { address: 0x9000, length: 0x1000, in_hook: number > 3, stack: NodeId(1) },
                };
                all.push(Event { time, thread: ThreadId(thread), action });
            }
            let mut scans: Vec<(usize, Scan)> = Vec::new();
            for (place, &(process, time)) in times.iter().enumerate() {
                let process = ProcessId(process);
                if scans.iter().filter(|(_, scan)| scan.process == process).count() < Freezer::TOGETHER {
                    scans.push((place, Scan { process, time, ..Scan::default() }));
                }
            }
            let together = found(&all, &scans);
            prop_assert_eq!(together.len(), scans.len());
            for one in &scans {
                let alone = found(&all, std::slice::from_ref(one));
                prop_assert_eq!(&together[&one.0], &alone[&one.0]);
            }
        }
    }
}
