//! A recorded image, as the writer knows it.

use crate::base::capture_writer::Writer;
use crate::image::{Image, ImageId};
use crate::tables::modules::{KnownFiles, Modules};
use crate::tables::stacks::Stacks;
use crate::writer::annotations::Pools;
use capture::{Action, Error, NodeId, ReallocOutcome, ThreadId};
use rustc_hash::FxHashMap;
use shared_ring::Segment;
use shared_ring::record::Record;
use std::sync::Arc;

/// The thread that writes into a ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    pub(super) slot: u32,
    pub(super) thread: ThreadId,
    /// Records of this thread so far.
    pub(super) records: u64,
    /// The thread said that it is about to exec, and nothing since.
    pub(super) execing: bool,
}

/// What is known of an image.
pub(super) struct Known {
    pub(super) image: Arc<Image>,
    /// The view of its memory.
    pub(super) segment: Segment,
    pub(super) stacks: Stacks,
    pub(super) modules: Modules,
    /// Some process of it has been entered.
    pub(super) has_started: bool,
    /// The writing thread of each ring.
    pub(super) rings: Vec<Option<Owner>>,
    pub(super) pools: Pools,
    /// By process slot, records of threads that no longer write, to estimate the cost of hooks.
    pub(super) records: FxHashMap<u32, u64>,
}

impl Known {
    pub(super) fn new(image: Arc<Image>, files: KnownFiles) -> Known {
        Known {
            modules: Modules::new(image.info.clone(), files),
            segment: image.memory.segment(),
            image,
            stacks: Stacks::default(),
            has_started: false,
            rings: Vec::new(),
            pools: Pools::default(),
            records: FxHashMap::default(),
        }
    }

    /// A thread writes into a ring from now on.
    pub(super) fn take_over(&mut self, ring: u32, owner: Owner) {
        let index = ring as usize;
        if self.rings.len() <= index {
            self.rings.resize(index + 1, None);
        }
        self.rings[index] = Some(owner);
    }

    /// Takes the ring from its thread, which no longer writes.
    pub(super) fn leave(&mut self, ring: u32) -> Option<Owner> {
        let owner = self.rings.get_mut(ring as usize)?.take()?;
        self.count(owner);
        Some(owner)
    }

    /// Takes all rings from the threads of a process, and returns those threads.
    pub(super) fn leave_all(&mut self, slot: u32) -> Vec<Owner> {
        let rings = self.rings.iter_mut();
        let owners: Vec<Owner> = rings.filter_map(|ring| ring.take_if(|owner| owner.slot == slot)).collect();
        owners.iter().for_each(|owner| self.count(*owner));
        owners
    }

    fn count(&mut self, owner: Owner) {
        *self.records.entry(owner.slot).or_default() += owner.records;
    }

    /// The event that a process's record means; `None` for an impossible one.
    pub(super) fn action(
        &mut self,
        slot: u32,
        record: &Record,
        writer: &mut Writer,
    ) -> Result<Option<Action>, Error> {
        let Known { stacks, segment, modules, pools, .. } = self;
        let mut stack = |id: u32| stacks.node(id, segment, modules, writer);
        Ok(Some(match *record {
            Record::Alloc { address, size, alignment, stack: id } => {
                Action::Alloc { address, size, alignment, stack: stack(id)? }
            }
            Record::Free { address } => Action::Free { address, stack: NodeId::ROOT },
            Record::FreeWithStack { address, stack: id } => Action::Free { address, stack: stack(id)? },
            Record::ReallocBegin { address, serial } => Action::ReallocBegin { address, serial },
            Record::ReallocEnd { serial, address, size, stack: id } => {
                let outcome = ReallocOutcome::Block { address, size, stack: stack(id)? };
                Action::ReallocEnd { serial, outcome }
            }
            Record::ReallocFailed { serial } => {
                Action::ReallocEnd { serial, outcome: ReallocOutcome::Failed }
            }
            Record::ReallocFreed { serial } => Action::ReallocEnd { serial, outcome: ReallocOutcome::Freed },
            Record::Map { address, length, stack: id, in_hook } => {
                Action::Map { address, length, stack: stack(id)?, in_hook }
            }
            Record::Unmap { address, length } => Action::Unmap { address, length },
            Record::UnmapFailed { address, length } => Action::UnmapFailed { address, length },
            Record::Remap { old_address, old_length, address, length, stack: id } => {
                Action::Remap { old_address, old_length, address, length, stack: stack(id)? }
            }
            Record::AllocFailed { size, alignment, count, error, stack: id } => {
                let factors = (count != 0).then_some((count, size));
                let size = factors.map_or(size, |_| u64::MAX);
                Action::AllocFailed { size, factors, alignment, error, stack: stack(id)? }
            }
            Record::Break { from, address, stack: id, in_hook } => {
                Action::Break { from, address, stack: stack(id)?, in_hook }
            }
            Record::GapBegin => Action::GapBegin,
            Record::Unsampled => Action::Unsampled,
            Record::Pause => Action::Pause,
            Record::Resume => Action::Resume,
            Record::GapEnd { allocations, frees } => Action::GapEnd { allocations, frees },
            Record::Fork { fork } => Action::Fork { fork },
            // Pools are named before they have blocks.
            Record::ReportAlloc { .. } | Record::ReportFree { .. } | Record::ReportRealloc { .. } => {
                return pools.action(slot, record, stack);
            }
            // These are no events.
            Record::Named(_) | Record::End | Record::Exec | Record::ExecFailed | Record::Exit { .. } => {
                return Ok(None);
            }
            Record::Time { .. } | Record::Owner { .. } => return Ok(None),
        }))
    }
}

/// All images by id: there are few images, but many records.
#[derive(Default)]
pub(super) struct Images(Vec<Option<Box<Known>>>);

impl Images {
    pub(super) fn add(&mut self, id: ImageId, known: Known) {
        let index = id.0 as usize;
        if self.0.len() <= index {
            self.0.resize_with(index + 1, || None);
        }
        self.0[index] = Some(Box::new(known));
    }

    /// What is known of an image, until that is finished.
    #[inline]
    pub(super) fn get(&mut self, id: ImageId) -> Option<&mut Known> {
        self.0.get_mut(id.0 as usize)?.as_deref_mut()
    }

    /// Removes a finished image.
    pub(super) fn remove(&mut self, id: ImageId) -> Option<Box<Known>> {
        self.0.get_mut(id.0 as usize).and_then(Option::take)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Known> {
        self.0.iter_mut().flatten().map(|known| &mut **known)
    }
}
