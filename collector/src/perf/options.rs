//! What is sampled.

/// How to sample the processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuOptions {
    /// Sample what processors do.
    pub processors: bool,
    /// Samples in each second that a processor works.
    pub frequency: u32,
    /// Bytes of stack that are copied with each sample; `None` for as many as are worth it where rings have room.
    pub stack_bytes: Option<u32>,
    /// Keep the copied registers and stacks in the capture.
    pub keep_stacks: bool,
    /// Record page faults.
    pub faults: bool,
    /// Whose work is sampled.
    pub scope: Scope,
}

/// Whose work is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A process from its next exec on, with all that it starts if `follow` is set.
    Tree {
        /// The process.
        pid: u32,
        /// Sample what it starts, too.
        follow: bool,
    },
    /// Processes that an agent tells of, found among everything that runs on this machine.
    Recorded,
    /// Everything that runs on this machine.
    System,
}

impl CpuOptions {
    /// Samples a second unless something else is said: not a divisor of common timers' rates, so that what these start is
    /// seen at all its moments.
    pub const FREQUENCY: u32 = 999;
    /// Bytes of stack unless something else is said, where rings have room for ten such samples, and no faults keep the reader from
    /// them. What a stack has not got is not copied by us, so only deep ones cost more for it.
    pub const STACK_BYTES: u32 = 48 << 10;
    /// The same in all other rings, and of hits of tracepoints.
    const LEAST_STACK: u32 = 16 << 10;
    /// Most bytes of stack: a record of the kernel's ends at 64 KiB.
    pub const MOST_STACK: u32 = 60 << 10;

    /// True when processes that come into the recording one by one are sampled, and nobody else.
    pub(super) fn follows(self) -> bool {
        self.processors && self.scope == Scope::Recorded
    }

    /// Within what the kernel takes: stacks are multiples of 8 bytes.
    pub(super) fn bounded(self) -> CpuOptions {
        CpuOptions {
            frequency: self.frequency.clamp(1, 50_000),
            stack_bytes: self.stack_bytes.map(|bytes| bytes.clamp(256, Self::MOST_STACK).next_multiple_of(8)),
            ..self
        }
    }

    /// Bytes of stack for each sample in rings of so many bytes.
    pub(super) fn stack_in(self, ring: usize) -> u32 {
        let fits = if self.faults { 0 } else { u32::try_from(ring / 10).unwrap_or(u32::MAX) & !7 };
        self.stack_bytes.unwrap_or(fits.clamp(Self::LEAST_STACK, Self::STACK_BYTES))
    }

    /// Bytes of stack for each of what may come by thousands at once: faults and hits of tracepoints.
    pub(super) fn stack_of_many(self) -> u32 {
        self.stack_bytes.unwrap_or(Self::LEAST_STACK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that stacks are copied as far as rings have room for, unless somebody says how far.
    #[test]
    fn stacks_leave_room_in_rings() {
        let scope = Scope::System;
        let options = |stack_bytes| CpuOptions {
            processors: true,
            frequency: 999,
            stack_bytes,
            keep_stacks: false,
            faults: false,
            scope,
        };
        for (ring, bytes) in
            [(64 << 10, 16 << 10), (256 << 10, 26208), (512 << 10, 48 << 10), (4 << 20, 48 << 10)]
        {
            assert_eq!(options(None).bounded().stack_in(ring), bytes, "{ring}");
            assert_eq!(options(Some(1000)).bounded().stack_in(ring), 1000);
        }
        let faults = CpuOptions { faults: true, ..options(None) };
        assert_eq!(faults.stack_in(4 << 20), 16 << 10);
        assert_eq!(options(None).stack_of_many(), 16 << 10);
        assert_eq!(options(Some(2000)).stack_of_many(), 2000);
    }
}
