//! A thread's cache of stacks with the frames of an interpreter, by the native stack and the interpreter's frames.

use crate::interpreters::chain::Summary;
use crate::interpreters::mix;

const PLACES: usize = 4096;

/// A stack. Zeroed memory is none.
#[derive(Clone, Copy, Debug, Default)]
struct Stack {
    /// The path of the native stack alone.
    native: u64,
    /// The hash of the interpreter's frames.
    frames: u64,
    /// The path of both.
    path: u64,
    /// 1 if the interpreter's frames were cut off, in the recording with the number above.
    kind: u64,
}

/// The cache.
pub(crate) struct Joined {
    stacks: [Stack; PLACES],
    recording: u64,
}

impl Joined {
    /// Forgets all stacks, since they are those of another recording.
    pub(crate) fn forget(&mut self) {
        self.recording = self.recording.wrapping_add(2);
    }

    fn kind(&self, frames: Summary) -> u64 {
        self.recording | u64::from(frames.is_cut)
    }

    fn place(native: u64, frames: Summary) -> usize {
        (mix(native, frames.hash) >> 32) as usize % PLACES
    }

    /// The path of a native stack with these frames, if cached.
    #[inline(always)]
    pub(crate) fn path(&self, native: u64, frames: Summary) -> Option<u64> {
        let kind = self.kind(frames);
        let stack = self.stacks.get(Self::place(native, frames))?;
        let is_it = stack.native == native && stack.frames == frames.hash && stack.kind == kind;
        is_it.then_some(stack.path)
    }

    /// Caches a path.
    pub(crate) fn keep(&mut self, native: u64, frames: Summary, path: u64) {
        let kind = self.kind(frames);
        if let Some(stack) = self.stacks.get_mut(Self::place(native, frames)) {
            *stack = Stack { native, frames: frames.hash, path, kind };
        }
    }
}
