//! The last stack that was merged from native frames and an interpreter's, frame by frame.
//!
//! Stacks that follow each other have most of their outer frames in common. So those need not be looked up in the stack
//! table again: while the numbers are the same from the outermost frame on, so are the stacks.

use unwind::{Label, Labels};

/// Most frames that are kept.
const MOST: usize = 2048;

/// A frame, and the stack up to it.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    number: u32,
    path: u64,
}

/// The stack. Zeroed memory is an empty one.
pub(crate) struct Merged {
    steps: [Step; MOST],
    count: usize,
    /// The path without frames, which says how the stack ends.
    empty: u64,
}

/// A stack that is being merged.
pub(crate) struct Merging<'a> {
    merged: &'a mut Merged,
    /// Number of frames so far.
    at: usize,
    path: u64,
    is_as_before: bool,
}

impl Merged {
    /// Forgets the stack, since its path is one of another recording.
    pub(crate) fn forget(&mut self) {
        self.count = 0;
    }

    /// Begins another one, with this path without frames.
    pub(crate) fn begin(&mut self, empty: u64) -> Merging<'_> {
        if self.empty != empty {
            (self.count, self.empty) = (0, empty);
        }
        Merging { merged: self, at: 0, path: empty, is_as_before: true }
    }
}

impl Merging<'_> {
    /// Adds the frame with this number, further in. `None` if there is no room for the stack.
    #[inline(always)]
    pub(crate) fn add(&mut self, number: u32, labels: &mut impl Labels) -> Option<()> {
        let at = self.at;
        self.at = at.wrapping_add(1);
        let count = self.merged.count;
        let place = self.merged.steps.get_mut(at);
        if self.is_as_before
            && at < count
            && let Some(Step { number: before, path }) = place.as_deref()
            && *before == number
        {
            self.path = *path;
            return Some(());
        }
        self.is_as_before = false;
        // If this fails, what was kept ends here.
        self.merged.count = count.min(at);
        self.path = labels.longer(Label::from_bits(self.path), number)?.to_bits();
        if let Some(place) = place {
            *place = Step { number, path: self.path };
            self.merged.count = self.at;
        }
        Some(())
    }

    /// The path of the stack.
    pub(crate) fn path(self) -> u64 {
        self.path
    }
}
