//! Frees of addresses without a live block, and what was there: freed twice, moved by `realloc`, inside a block, or
//! unknown.
//!
//! Two passes, so that memory is bounded by such frees and not by all addresses that ever held a block:
//!
//! ```text
//!  first    free without a live block ──► its address      Suspects
//!  second   births and deaths at these addresses, and the same frees again ──► each with what was there before
//! ```

use crate::count::watch::{Birth, Death, End, Instant, InvalidFree, Life, Watch};
use capture::{NodeId, ProcessId, ThreadId};
use std::collections::BTreeMap;

/// Observes the first pass for such frees.
#[derive(Debug)]
pub struct Suspects {
    limit: usize,
    found: usize,
    places: BTreeMap<(ProcessId, u64), Place>,
}

impl Suspects {
    /// For the first `limit` of such frees.
    pub fn new(limit: usize) -> Self {
        Self { limit, found: 0, places: BTreeMap::new() }
    }

    /// The observer of a second pass over the same events.
    pub fn finish(self) -> InvalidFrees {
        InvalidFrees { limit: self.limit, places: self.places, rows: Vec::new(), more: 0 }
    }
}

impl Watch for Suspects {
    type Attached = ();

    fn born(&mut self, _: &Birth, _: Option<&Life<()>>) {}

    fn freed_invalid(&mut self, _: Instant, free: &InvalidFree) {
        if self.found < self.limit {
            self.found += 1;
            self.places.insert((free.process, free.address), Place::default());
        }
    }
}

/// Observes the second pass for what was at the addresses of such frees.
#[derive(Debug)]
pub struct InvalidFrees {
    limit: usize,
    places: BTreeMap<(ProcessId, u64), Place>,
    rows: Vec<InvalidFreeRow>,
    more: u64,
}

/// What is known of an address.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// The live block that begins at or contains it.
    block: Option<Block>,
    /// The last block that began there and was freed or moved.
    former: Option<(Block, Return)>,
}

/// A free of an address without a live block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidFreeRow {
    /// When.
    pub at: Instant,
    /// The thread, the address and the stack.
    pub free: InvalidFree,
    /// What was there.
    pub cause: Cause,
}

/// Why a free was invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The block had already been freed or moved, and no block has been allocated there since.
    Twice(Block, Return),
    /// The address was inside this block, not at its beginning.
    Inside(Block),
    /// No recorded call of this process had returned this address.
    Unknown,
}

impl Cause {
    /// The word for it.
    pub fn name(&self) -> &'static str {
        match self {
            Cause::Twice(_, Return { moved_to: Some(_), .. }) => "moved",
            Cause::Twice(..) => "twice",
            Cause::Inside(_) => "inside",
            Cause::Unknown => "unknown",
        }
    }
}

/// A block, and its allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// When it was allocated.
    pub at: Instant,
    /// The thread.
    pub thread: ThreadId,
    /// The stack.
    pub stack: NodeId,
    /// Its address.
    pub address: u64,
    /// Bytes requested.
    pub size: u64,
}

/// How a block was freed or moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Return {
    /// When.
    pub at: Instant,
    /// The thread.
    pub thread: ThreadId,
    /// The stack; [`NodeId::ROOT`] unless the stacks of frees were recorded, or if `realloc` did it.
    pub stack: NodeId,
    /// Where `realloc` moved it.
    pub moved_to: Option<u64>,
}

impl InvalidFrees {
    /// The frees in order, and how many more there were.
    pub fn finish(self) -> (Vec<InvalidFreeRow>, u64) {
        (self.rows, self.more)
    }

    /// The places inside a block.
    fn within(
        &mut self,
        process: ProcessId,
        address: u64,
        size: u64,
    ) -> impl Iterator<Item = (u64, &mut Place)> {
        let last = address.saturating_add(size.max(1) - 1);
        self.places.range_mut((process, address)..=(process, last)).map(|((_, at), place)| (*at, place))
    }
}

impl Watch for InvalidFrees {
    type Attached = Instant;

    fn born(&mut self, birth: &Birth, _: Option<&Life<Instant>>) -> Instant {
        let &Birth { at, process, thread, node: stack, address, size, .. } = birth;
        let block = Block { at, thread, stack, address, size };
        self.within(process, address, size).for_each(|(_, place)| place.block = Some(block));
        at
    }

    fn died(&mut self, life: &Life<Instant>, death: &Death) {
        let &Life { process, thread, node: stack, address, size, attached: at } = life;
        let returned = match death.end {
            End::Freed { thread, stack, .. } => Some(Return { at: death.at, thread, stack, moved_to: None }),
            End::Resized { thread, stack, address, .. } => {
                Some(Return { at: death.at, thread, stack, moved_to: Some(address) })
            }
            End::Displaced { .. } | End::Left { .. } => None,
        };
        let block = Block { at, thread, stack, address, size };
        for (place_address, place) in self.within(process, address, size) {
            if place.block == Some(block) {
                place.block = None;
            }
            if place_address == address {
                place.former = returned.map(|returned| (block, returned));
            }
        }
    }

    fn freed_invalid(&mut self, at: Instant, free: &InvalidFree) {
        if self.rows.len() == self.limit {
            self.more += 1;
            return;
        }
        let place = self.places.get(&(free.process, free.address)).copied().unwrap_or_default();
        let cause = match place {
            Place { block: Some(block), .. } => Cause::Inside(block),
            Place { former: Some((block, returned)), .. } => Cause::Twice(block, returned),
            Place { .. } => Cause::Unknown,
        };
        self.rows.push(InvalidFreeRow { at, free: *free, cause });
    }
}
