//! What is sampled.

/// How to sample the processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuOptions {
    /// Sample what processors do.
    pub processors: bool,
    /// Samples in each second that a processor works.
    pub frequency: u32,
    /// Bytes of stack copied with each sample; `None` for as many as are worthwhile in rings of the given size.
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
    /// A process from its next exec on, including everything it starts if `follow` is set.
    Tree {
        /// The process.
        pid: u32,
        /// Sample what it starts, too.
        follow: bool,
    },
    /// Processes that have an agent, found among everything that runs on this machine.
    Recorded,
    /// Everything that runs on this machine.
    System,
}

impl CpuOptions {
    /// Default samples per second: not a divisor of common timer rates, so that work started by timers is sampled at
    /// all its stages; and few, because a sample with a deep stack costs up to 0.2 ms.
    pub const FREQUENCY: u32 = 249;
    /// Default bytes of stack, if a ring has room for ten such samples and no page faults compete for the reader. We
    /// do not copy what the kernel could not fill, so only deep stacks cost more for it.
    pub const STACK_BYTES: u32 = 48 << 10;
    /// Default for all other rings.
    const LEAST_STACK: u32 = 16 << 10;
    /// Most bytes of stack: a kernel record cannot exceed 64 KiB.
    pub const MOST_STACK: u32 = 60 << 10;

    /// True if only processes that join the recording one by one are sampled.
    pub(crate) fn follows(self) -> bool {
        self.processors && self.scope == Scope::Recorded
    }

    /// Clamps the options to what the kernel accepts: stack sizes are multiples of 8 bytes.
    pub(crate) fn bounded(self) -> CpuOptions {
        CpuOptions {
            frequency: self.frequency.clamp(1, 50_000),
            stack_bytes: self.stack_bytes.map(|bytes| bytes.clamp(256, Self::MOST_STACK).next_multiple_of(8)),
            ..self
        }
    }

    /// Bytes of stack for each sample in a ring of so many bytes.
    pub(crate) fn stack_in(self, ring: usize) -> u32 {
        let fits = if self.faults { 0 } else { u32::try_from(ring / 10).unwrap_or(u32::MAX) & !7 };
        self.stack_bytes.unwrap_or(fits.clamp(Self::LEAST_STACK, Self::STACK_BYTES))
    }

    /// Bytes of stack for each record of a kind that may come by the thousands at once, as faults do.
    pub(crate) fn stack_of_many(self) -> u32 {
        self.stack_bytes.unwrap_or(Self::LEAST_STACK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that as much of stacks is copied as rings have room for, unless the user says how much.
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
