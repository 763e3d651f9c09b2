//! The blocks and mappings of processes at the moments when their memory was scanned.
//!
//! One pass over all events serves every scan: what a process holds is followed, and copied at the first event of it
//! that is later than a scan of it. The rest of the pass tells which of these blocks were freed eventually.

use analysis::{Birth, Death, End, Instant, Life, Watch};
use capture::{Action, Event, ProcessId, Scan, Tables};
use heap_graph::{HeldBlock, Memory};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::num::NonZeroU32;

/// What a process held when it was scanned.
#[derive(Debug, Default)]
pub(super) struct HeapSnapshot {
    /// The blocks whose allocation is known.
    pub(super) blocks: Vec<HeldBlock>,
    /// Addresses of blocks that were freed later.
    pub(super) freed: HashSet<u64>,
    /// Who owned which memory.
    pub(super) memory: Memory,
    /// Events of the process had been lost, or it had paused the recording: there may be unknown blocks.
    pub(super) is_interrupted: bool,
}

/// A process with scans ahead.
#[derive(Debug, Default)]
struct Followed {
    /// Scans ahead, the next one last: their indices in the capture, and their times.
    ahead: Vec<(usize, u64)>,
    /// What it held at past scans, in order, with the index of each scan.
    snapshots: Vec<(usize, HeapSnapshot)>,
    slots: Vec<Slot>,
    /// Indices of free slots.
    free: Vec<u32>,
    /// Interruptions so far: blocks from before the last one may have been freed unseen.
    interruptions: u64,
    memory: Memory,
}

/// Holds a block until it is freed.
#[derive(Clone, Copy, Debug)]
struct Slot {
    block: HeldBlock,
    /// Interruptions before its birth; [`GONE`] when the slot is free.
    interruptions: u64,
}

const GONE: u64 = u64::MAX;

/// One more than the index of a slot, and in the upper bits the number of scans before its block was born.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place(NonZeroU32);

impl Place {
    /// Bits of the index.
    const BITS: u32 = 30;

    fn new(number: usize, scans: usize) -> Option<Self> {
        let number = u32::try_from(number).ok().filter(|number| number + 1 < 1 << Self::BITS)?;
        let scans = u32::try_from(scans).ok().filter(|scans| *scans < 1 << (u32::BITS - Self::BITS))?;
        NonZeroU32::new(scans << Self::BITS | (number + 1)).map(Self)
    }

    fn number(self) -> u32 {
        (self.0.get() & ((1 << Self::BITS) - 1)) - 1
    }

    /// Number of scans before the birth.
    fn scans(self) -> usize {
        (self.0.get() >> Self::BITS) as usize
    }
}

/// Observes a pass over all events for what processes held when they were scanned.
#[derive(Debug)]
pub(super) struct SnapshotBuilder {
    /// By thread, its process.
    processes: Vec<ProcessId>,
    followed: HashMap<ProcessId, Followed>,
}

impl SnapshotBuilder {
    /// Most scans of one process that one pass can serve.
    pub(super) const TOGETHER: usize = 1 << (u32::BITS - Place::BITS);

    /// For these of the capture's scans, at most [`Self::TOGETHER`] of each process.
    pub(super) fn new<'s>(tables: &Tables, scans: impl Iterator<Item = (usize, &'s Scan)>) -> Self {
        let mut followed: HashMap<ProcessId, Followed> = HashMap::new();
        for (place, scan) in scans {
            followed.entry(scan.process).or_default().ahead.push((place, scan.time));
        }
        followed.values_mut().for_each(|followed| followed.ahead.sort_by_key(|&(_, time)| Reverse(time)));
        let processes = tables.threads.iter().map(|thread| thread.process).collect();
        Self { processes, followed }
    }

    /// What processes held, by the index of the scan.
    pub(super) fn finish(mut self) -> BTreeMap<usize, HeapSnapshot> {
        self.followed.values_mut().for_each(|followed| followed.pass(u64::MAX));
        self.followed.into_values().flat_map(|followed| followed.snapshots).collect()
    }

    /// A process with scans ahead of this moment; freezes it for those that the moment has passed.
    fn before(&mut self, process: ProcessId, at: Instant) -> Option<&mut Followed> {
        let followed = self.followed.get_mut(&process)?;
        followed.pass(at.time);
        Some(followed).filter(|followed| !followed.ahead.is_empty())
    }
}

impl Followed {
    /// Freezes what it held at the scans before a time; at the end, at all remaining ones.
    fn pass(&mut self, time: u64) {
        while let Some((place, _)) = self.ahead.pop_if(|&mut (_, scanned)| scanned < time || time == u64::MAX)
        {
            let is_last = self.ahead.is_empty();
            let held = |slots: &[Slot]| {
                let known = slots.iter().filter(|slot| slot.interruptions == self.interruptions);
                known.map(|slot| slot.block).collect()
            };
            let snapshot = HeapSnapshot {
                blocks: held(&self.slots),
                memory: if is_last { std::mem::take(&mut self.memory) } else { self.memory.clone() },
                is_interrupted: self.interruptions > 0,
                freed: HashSet::new(),
            };
            self.snapshots.push((place, snapshot));
            if is_last {
                (self.slots, self.free) = Default::default();
            }
        }
    }

    /// The slot of a new block; none when the limit is reached.
    fn add(&mut self, block: HeldBlock) -> Option<Place> {
        let slot = Slot { block, interruptions: self.interruptions };
        if let Some(place) = self.free.pop() {
            *self.slots.get_mut(place as usize)? = slot;
            return Place::new(place as usize, self.snapshots.len());
        }
        let place = Place::new(self.slots.len(), self.snapshots.len())?;
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

impl Watch for SnapshotBuilder {
    /// The block's slot; none for a block born after the last scan of its process.
    type Attached = Option<Place>;

    fn born(&mut self, birth: &Birth, _: Option<&Life<Option<Place>>>) -> Option<Place> {
        let Birth { process, thread, node, address, size, .. } = *birth;
        self.before(process, birth.at)?.add(HeldBlock { address, size, node, thread })
    }

    fn died(&mut self, life: &Life<Option<Place>>, death: &Death) {
        let Some((place, followed)) = life.attached.zip(self.followed.get_mut(&life.process)) else { return };
        followed.pass(death.at.time);
        if matches!(death.end, End::Freed { .. } | End::Resized { .. }) {
            for (_, snapshot) in followed.snapshots.iter_mut().skip(place.scans()) {
                snapshot.freed.insert(life.address);
            }
        }
        // Blocks left at the end were still there.
        if !followed.ahead.is_empty() && !matches!(death.end, End::Left { .. }) {
            followed.remove(place);
        }
    }

    fn event(&mut self, at: Instant, event: &Event) {
        let Some(&process) = self.processes.get(event.thread.index()) else { return };
        let Some(followed) = self.before(process, at) else { return };
        let memory = &mut followed.memory;
        memory.pages.note(&event.action, |_, _| ());
        memory.has_own_break |= matches!(event.action, Action::Break { in_hook: false, .. });
        followed.interruptions += u64::from(matches!(event.action, Action::GapBegin | Action::Pause));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::ProfileBuilder;
    use capture::{FrameId, Node, NodeId, Process, Thread, ThreadId};
    use proptest::prelude::*;

    /// Check that blocks are those at the scan's moment, that later frees of them are known, and that a pause makes
    /// all earlier ones doubtful.
    #[test]
    fn blocks_are_those_of_the_moment() {
        let tables = tables(2);
        let scans = [0, 1].map(|process| Scan { process: ProcessId(process), time: 50, ..Scan::default() });
        let mut builder =
            ProfileBuilder::watched(&tables, SnapshotBuilder::new(&tables, scans.iter().enumerate()));
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
            builder.event(&Event { time, thread: ThreadId(thread), action });
        }
        let (_, builder) = builder.finish_watched();
        let snapshots = builder.finish();
        let addresses = |scan: usize| {
            let mut addresses: Vec<u64> = snapshots[&scan].blocks.iter().map(|block| block.address).collect();
            addresses.sort_unstable();
            addresses
        };
        assert_eq!((addresses(0), addresses(1)), (vec![0x100, 0x300], vec![0x400]));
        assert_eq!(snapshots[&0].freed, HashSet::from([0x100]));
        assert_eq!((snapshots[&0].is_interrupted, snapshots[&1].is_interrupted), (false, true));
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

    /// Blocks by address, those freed later, whether the process was interrupted, and who owns a mapping.
    type View = (Vec<u64>, Vec<u64>, bool, Option<bool>);

    /// What one pass finds for these scans.
    fn found(events: &[Event], scans: &[(usize, Scan)]) -> BTreeMap<usize, View> {
        let tables = tables(2);
        let mut builder = ProfileBuilder::watched(
            &tables,
            SnapshotBuilder::new(&tables, scans.iter().map(|(place, scan)| (*place, scan))),
        );
        builder.events(events);
        let (_, builder) = builder.finish_watched();
        let view = |snapshot: HeapSnapshot| {
            let mut blocks: Vec<u64> = snapshot.blocks.iter().map(|block| block.address).collect();
            let mut freed: Vec<u64> =
                snapshot.freed.into_iter().filter(|address| blocks.contains(address)).collect();
            blocks.sort_unstable();
            freed.sort_unstable();
            (blocks, freed, snapshot.is_interrupted, snapshot.memory.pages.owner(0x9000))
        };
        builder.finish().into_iter().map(|(place, snapshot)| (place, view(snapshot))).collect()
    }

    proptest! {
        /// Check that one pass for several scans of each process finds what a pass for each scan finds.
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
                if scans.iter().filter(|(_, scan)| scan.process == process).count() < SnapshotBuilder::TOGETHER {
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
