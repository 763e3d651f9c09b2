//! What is sampled.

/// How to sample the processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuOptions {
    /// Sample what processors do.
    pub processors: bool,
    /// Samples in each second that a processor works.
    pub frequency: u32,
    /// Bytes of stack that are copied with each sample.
    pub stack_bytes: u32,
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
    /// Bytes of stack unless something else is said.
    pub const STACK_BYTES: u32 = 16 << 10;
    /// Most bytes of stack: a record of the kernel's ends at 64 KiB.
    pub const MOST_STACK: u32 = 60 << 10;

    /// Within what the kernel takes: stacks are multiples of 8 bytes.
    pub(super) fn bounded(self) -> CpuOptions {
        CpuOptions {
            frequency: self.frequency.clamp(1, 50_000),
            stack_bytes: self.stack_bytes.clamp(256, Self::MOST_STACK).next_multiple_of(8),
            ..self
        }
    }
}
