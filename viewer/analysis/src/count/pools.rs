//! Totals of the heaps that programs manage themselves (pools), by name.

use super::heap::{Block, Heap, MAX_BLOCK};
use super::profile::PoolProfile;
use super::watch::Instant;
use crate::base::cost::Amount;
use capture::Seed;
use capture::{Action, Event, ProcessId, ReallocOutcome, StringId};
use std::collections::{BTreeMap, HashMap};

/// The pools of all processes while events are counted.
#[derive(Clone, Debug)]
pub(crate) struct Pools {
    seed: Seed,
    /// In the order of first use.
    totals: Vec<(PoolProfile, Amount)>,
    by_name: HashMap<StringId, usize>,
    heaps: BTreeMap<(ProcessId, StringId), Heap>,
    /// Nothing is counted any more.
    is_resting: bool,
}

impl Pools {
    pub(crate) fn new(seed: Seed) -> Self {
        Self { seed, totals: Vec::new(), by_name: HashMap::new(), heaps: BTreeMap::new(), is_resting: false }
    }

    /// Stops counting and drops the totals: these are only for a capture from its start.
    pub(crate) fn rest(&mut self) {
        *self = Self { is_resting: true, ..Self::new(self.seed) };
    }

    /// The totals.
    pub(crate) fn profiles(&self) -> Vec<PoolProfile> {
        self.totals.iter().map(|(profile, _)| *profile).collect()
    }

    /// The totals as if all processes ended now.
    pub(crate) fn as_if_over(&self, is_uncertain: impl Fn(ProcessId, u32) -> bool) -> Vec<PoolProfile> {
        let mut profiles = self.profiles();
        for ((process, pool), heap) in &self.heaps {
            let Some(profile) = self.by_name.get(pool).and_then(|place| profiles.get_mut(*place)) else {
                continue;
            };
            profile.leave(heap, |born| is_uncertain(*process, born));
        }
        profiles
    }

    /// A new block of a pool.
    pub(crate) fn add(&mut self, process: ProcessId, pool: StringId, mut block: Block, at: Instant) {
        if self.is_resting {
            return;
        }
        block.size = block.size.min(MAX_BLOCK);
        let size = Amount::block(block.size);
        let heap = self.heaps.entry((process, pool)).or_insert_with(|| Heap::new(self.seed));
        let displaced = heap.insert(block);
        let (profile, held) = self.of(pool);
        profile.allocated += size;
        if let Some(displaced) = displaced {
            // Its end was not reported, or not recorded: it is over all the same.
            *held -= Amount::block(displaced.size);
        }
        *held += size;
        profile.peak.raise(*held, at);
    }

    /// A block returns to its pool; an unknown one changes nothing.
    pub(crate) fn remove(&mut self, process: ProcessId, pool: StringId, address: u64) {
        let Some(block) = self.heaps.get_mut(&(process, pool)).and_then(|heap| heap.remove(address)) else {
            return;
        };
        let size = Amount::block(block.size);
        let (profile, held) = self.of(pool);
        profile.freed += size;
        *held -= size;
    }

    /// A process ends. `is_uncertain` tells for a block whether its end may have been missed.
    pub(crate) fn end(&mut self, process: ProcessId, is_uncertain: impl Fn(u32) -> bool) {
        let range = (process, StringId(0))..=(process, StringId(u32::MAX));
        let pools: Vec<StringId> = self.heaps.range(range).map(|((_, pool), _)| *pool).collect();
        for pool in pools {
            let Some(heap) = self.heaps.remove(&(process, pool)) else { continue };
            let (profile, held) = self.of(pool);
            let before = profile.leaked + profile.uncertain;
            profile.leave(&heap, &is_uncertain);
            *held -= profile.leaked + profile.uncertain - before;
        }
    }

    fn of(&mut self, pool: StringId) -> &mut (PoolProfile, Amount) {
        let place = *self.by_name.entry(pool).or_insert_with(|| {
            self.totals.push((PoolProfile { name: pool, ..PoolProfile::default() }, Amount::ZERO));
            self.totals.len() - 1
        });
        &mut self.totals[place]
    }
}

impl PoolProfile {
    /// Counts what remains in a pool of a process that ends.
    fn leave(&mut self, heap: &Heap, is_uncertain: impl Fn(u32) -> bool) {
        for block in heap.iter() {
            let size = Amount::block(block.size);
            match is_uncertain(block.gap_edges) {
                true => self.uncertain += size,
                false => self.leaked += size,
            }
        }
    }
}

/// Makes a pool the heap that is counted: its blocks become those of a capture that has no others.
///
/// ```text
///  told of the pool     alloc    realloc           free     of processes, threads, gaps and pauses
///  counted              Alloc    Realloc… halves   Free     the same
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PoolEvents {
    pool: StringId,
}

impl PoolEvents {
    /// For the pool with this name.
    pub fn of(pool: StringId) -> Self {
        Self { pool }
    }

    /// What an event means for this heap: one event, the two halves of a `realloc`, or nothing.
    pub fn translate(&self, event: &Event) -> impl Iterator<Item = Event> + use<> {
        let ours = |pool: StringId| pool == self.pool;
        let root = capture::NodeId::ROOT;
        let (first, second) = match event.action {
            Action::PoolAlloc { pool, address, size, stack } if ours(pool) => {
                (Some(Action::Alloc { address, size, alignment: 0, stack }), None)
            }
            Action::PoolFree { pool, address } if ours(pool) => {
                (Some(Action::Free { address, stack: root }), None)
            }
            Action::PoolRealloc { pool, old, address, size, stack } if ours(pool) => {
                let outcome = ReallocOutcome::Block { address, size, stack };
                let begin = Action::ReallocBegin { address: old, serial: 0 };
                (Some(begin), Some(Action::ReallocEnd { serial: 0, outcome }))
            }
            Action::ProcessStart { .. }
            | Action::ProcessEnd { .. }
            | Action::Fork { .. }
            | Action::ThreadStart
            | Action::ThreadEnd
            | Action::GapBegin
            | Action::GapEnd { .. }
            | Action::Pause
            | Action::Resume
            | Action::Mark { .. } => (Some(event.action), None),
            _ => (None, None),
        };
        let event = *event;
        first.into_iter().chain(second).map(move |action| Event { action, ..event })
    }
}
