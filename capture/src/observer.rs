//! Follows what is written to a capture.

use serde::Serialize;

use crate::blocks::BlockTable;
use crate::event::{Action, Event, ReallocOutcome};
use crate::ids::{BlockNumber, ProcessId, ThreadId};
use crate::model::{Process, Thread};

/// Events that a writer hands over together: about as many reads as a core can have in flight.
pub const AHEAD: usize = 32;

/// Is told all that a [`Writer`](crate::Writer) is given, in the same order, and knows which blocks are live: by their
/// numbers a capture says what is freed. What else it computes is stored in the capture, so that nobody has to compute
/// it from the events.
pub trait Observer {
    /// Changes with whatever results and states have in them: those of another version count as absent.
    const VERSION: u32;
    /// What it has computed when there are no more events.
    type Results: Serialize;
    /// What a reader needs to go on from a moment.
    type State<'s>: Serialize
    where
        Self: 's;

    /// A process was added, or its row replaced.
    fn process(&mut self, id: ProcessId, row: &Process);

    /// A thread was added, or its row replaced.
    fn thread(&mut self, id: ThreadId, row: &Thread);

    /// The capture has this many stacks now, the empty one included.
    fn stacks(&mut self, count: usize);

    /// These events will be next: a chance to read what they will need, all at once. They may be [`AHEAD`] at most.
    fn look_ahead(&self, _events: &[Event]) {}

    /// The next event. Returns the block that it frees or begins to resize, if that is known.
    fn event(&mut self, event: &Event) -> Option<BlockNumber>;

    /// Live blocks and whatever else makes a state large; `None` if there are no states.
    fn weight(&self) -> Option<u64>;

    /// The state after the last event.
    fn state(&self) -> Self::State<'_>;

    /// The results, if there are any, when a recording ends that took this many nanoseconds. Nothing else is asked
    /// afterwards.
    fn results(&mut self, duration: u64) -> Option<Self::Results>;
}

/// Knows which blocks are live, and nothing else.
#[derive(Clone, Debug, Default)]
pub struct LiveBlocks {
    blocks: BlockTable<BlockNumber>,
    count: u64,
}

impl LiveBlocks {
    fn add(&mut self, address: u64) {
        self.blocks.insert(address, BlockNumber(self.count));
        self.count += 1;
    }
}

impl Observer for LiveBlocks {
    const VERSION: u32 = 0;
    type Results = ();
    type State<'s> = ();

    fn process(&mut self, _: ProcessId, _: &Process) {}

    fn thread(&mut self, _: ThreadId, _: &Thread) {}

    fn stacks(&mut self, _: usize) {}

    fn event(&mut self, event: &Event) -> Option<BlockNumber> {
        match event.action {
            Action::Alloc { address, .. }
            | Action::ReallocEnd { outcome: ReallocOutcome::Block { address, .. }, .. } => {
                self.add(address);
                None
            }
            Action::Free { address, .. } | Action::ReallocBegin { address, .. } => {
                self.blocks.remove(address)
            }
            _ => None,
        }
    }

    fn weight(&self) -> Option<u64> {
        None
    }

    fn state(&self) {}

    fn results(&mut self, _: u64) -> Option<()> {
        None
    }
}
