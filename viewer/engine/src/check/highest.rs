//! When some blocks held most.

use analysis::{Birth, Death, End, Instant, Life, Watch};

/// Finds when the blocks that it is told of held most, between events: both blocks of a `realloc` that copies are held
/// within one.
#[derive(Default)]
pub(super) struct Highest {
    held: u64,
    /// The last event that changed it.
    last: Instant,
    most: u64,
    /// Nanoseconds since the recording began.
    time: u64,
}

impl Highest {
    /// The time, in nanoseconds since the recording began.
    pub(super) fn finish(mut self) -> u64 {
        self.settle();
        self.time
    }

    /// All of the last event has happened.
    fn settle(&mut self) {
        if self.held > self.most {
            (self.most, self.time) = (self.held, self.last.time);
        }
    }

    fn happens(&mut self, at: Instant) {
        if at.position != self.last.position {
            self.settle();
            self.last = at;
        }
    }
}

impl Watch for Highest {
    type Attached = ();

    fn born(&mut self, birth: &Birth, _: Option<&Life<()>>) {
        self.happens(birth.at);
        self.held = self.held.saturating_add(birth.size);
    }

    fn died(&mut self, life: &Life<()>, death: &Death) {
        // What is left was there until after the last event.
        match death.end {
            End::Left { .. } => self.settle(),
            _ => self.happens(death.at),
        }
        self.held = self.held.saturating_sub(life.size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::Left;
    use capture::{Ended, NodeId, ProcessId, ThreadId};

    const FREED: End = End::Freed { thread: ThreadId(0), stack: NodeId::ROOT, is_temporary: false };
    const LEFT: End = End::Left { left: Left::Leaked, ended: Ended::Running, in_realloc: false };

    /// Tells of events at their own times: sizes of blocks that are born, and that die, at each position.
    fn highest(events: &[(u64, &[u64], &[u64], End)]) -> u64 {
        let (process, thread, node, address) = (ProcessId(0), ThreadId(0), NodeId::ROOT, 16);
        let mut highest = Highest::default();
        for &(position, born, died, end) in events {
            let at = Instant::after(position, position * 10);
            for &size in born {
                highest.born(&Birth { at, process, thread, node, address, size, alignment: 0 }, None);
            }
            for &size in died {
                let life = Life { process, thread, node, address, size, attached: () };
                highest.died(&life, &Death { at, end });
            }
        }
        highest.finish()
    }

    /// Check that a copy within one event is not a peak, and that what is left at the end may be one.
    #[test]
    fn peaks_are_between_events() {
        assert_eq!(
            highest(&[(1, &[100], &[], FREED), (2, &[120], &[100], FREED), (3, &[50], &[120], FREED)]),
            20
        );
        assert_eq!(highest(&[(1, &[10], &[], FREED), (2, &[20], &[], FREED), (2, &[], &[10, 20], LEFT)]), 20);
        assert_eq!(highest(&[]), 0);
    }
}
