//! Allocations and frees, interleaved with whatever else happened.

use super::frame::{Frame, Kind};
use super::frames::Frames;
use super::pid_of;
use super::side_events::{SideEvents, late_mark};
use super::stacks::Stacks;
use crate::events::Weight;
use crate::held::Held;
use crate::notes::Happenings;
use analysis::{Birth, Death, End, Instant, Life, Watch};
use capture::{Event, ProcessId, ThreadId};
use engine::{Error, Events, Loaded};

/// Observes the life of every block.
pub(super) struct Writer<'a, 'o> {
    frames: Frames<'o>,
    loaded: &'a Loaded,
    weight: Weight,
    stacks: Stacks<'a>,
    held: Held,
    beside: SideEvents<'a>,
    happenings: Happenings,
}

/// An allocation or a free.
struct Happening {
    process: ProcessId,
    thread: ThreadId,
    time: u64,
    address: u64,
    /// 0 for a free.
    size: i64,
}

impl<'a, 'o> Writer<'a, 'o> {
    pub(super) fn new(
        mut frames: Frames<'o>,
        loaded: &'a Loaded,
        events: &'a dyn Events,
    ) -> Result<Self, Error> {
        let beside = SideEvents::new(loaded, events, &mut frames)?;
        let (weight, stacks, held) = (Weight::new(loaded), Stacks::new(loaded), Held::new(loaded));
        Ok(Self { frames, loaded, weight, stacks, held, beside, happenings: Happenings::default() })
    }

    /// Writes what comes after the last event.
    pub(super) fn finish(mut self) -> Frames<'o> {
        self.pass(u64::MAX);
        for note in self.happenings.finish(self.loaded) {
            self.frames.write(&mut late_mark(self.loaded, &note));
        }
        self.frames
    }

    /// Writes whatever else happened up to this time.
    // Cost: two comparisons, unless something did.
    fn pass(&mut self, time: u64) {
        let Self { frames, held, beside, .. } = self;
        if let Some(over) = held.over(time) {
            beside.until(over, frames);
            held.step(time, |process, holding| beside.counters().held(process, holding.bytes));
            beside.counters().write(over, frames);
        }
        beside.until(time, frames);
    }
}

impl Happening {
    fn write(&self, loaded: &Loaded, stack: &[u64], frames: &mut Frames<'_>) {
        let thread = loaded.tables.threads.get(self.thread.index());
        let tid = thread.map_or(-1, |thread| thread.tid.cast_signed());
        let mut frame = Frame::new(Kind::Allocation, pid_of(loaded, self.process), frames.time(self.time));
        frame.u64(self.address).u64(self.size.cast_unsigned()).u32(tid.cast_unsigned());
        frame.u16(stack.len() as u16).u16(0);
        stack.iter().for_each(|&address| {
            frame.u64(address);
        });
        frames.write(&mut frame);
    }
}

impl Watch for Writer<'_, '_> {
    type Attached = ();

    fn born(&mut self, birth: &Birth, _: Option<&Life<()>>) {
        let &Birth { process, thread, node, address, at, size, .. } = birth;
        self.pass(at.time);
        let size = self.weight.bytes(size);
        self.held.change(process, size);
        let stack = self.stacks.of_block(process, node);
        let what = Happening { process, thread, time: at.time, address, size: size.max(1) };
        what.write(self.loaded, stack, &mut self.frames);
    }

    fn died(&mut self, life: &Life<()>, death: &Death) {
        let &Life { process, address, .. } = life;
        let thread = match death.end {
            End::Freed { thread, .. } | End::Resized { thread, .. } => thread,
            End::Displaced { .. } => life.thread,
            // What was never freed is what Sysprof calls leaked.
            End::Left { .. } => return,
        };
        self.pass(death.at.time);
        self.held.change(process, self.weight.bytes(life.size).wrapping_neg());
        let what = Happening { process, thread, time: death.at.time, address, size: 0 };
        what.write(self.loaded, &[], &mut self.frames);
    }

    fn event(&mut self, at: Instant, event: &Event) {
        if let Some(note) = self.happenings.event(self.loaded, at, event) {
            self.pass(at.time);
            self.frames.write(&mut late_mark(self.loaded, &note));
        }
    }
}
