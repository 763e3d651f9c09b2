//! What a language's folder does; everything else is the same for all of them.

use crate::interpreters::Place;
use crate::interpreters::chain::{Chain, FrameWords, ScriptFrame};
use crate::interpreters::known_memory::KnownMemory;
use unwind::SavedWord;

/// How frames were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// All that are not as they were.
    All,
    /// There are more, further out.
    Cut,
    /// Those that were read are too many, together with those that were there already.
    TooMany,
}

/// Which native frames run which of a script's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Evaluations<'a> {
    /// Each frame has an address within its native frame.
    Places,
    /// Each frame has an evaluation of its own, a native frame in this code, and both are in the same order.
    Code(core::ops::Range<u64>),
    /// Frames say where an evaluation begins ([`BEGINS`]). Evaluations are native frames in this code, and both are in
    /// the same order.
    CodeOfBeginnings(core::ops::Range<u64>),
    /// Frames say where an evaluation begins ([`BEGINS`]). These are addresses within the native frames of the
    /// evaluations: that of the frames before the first such frame, and then one for each.
    Beginnings(&'a [u64]),
}

/// In place of the address of a frame with which an evaluation begins.
pub(crate) const BEGINS: u64 = 1;

/// What a thread knows of an interpreter of this language. Zeroed memory is a thread that has not looked.
pub(crate) trait Language {
    /// Another thread, or another recording, begins.
    fn begin(&mut self);

    /// Where frames have their words.
    fn words(&self) -> FrameWords;

    /// True when this thread's state is the last one, as far as words tell that are not compared with the chain.
    fn is_last(&self) -> bool;

    /// The interpreter's state of this thread; `None` if it runs nothing.
    fn state(&mut self, memory: &mut KnownMemory) -> Option<u64>;

    /// Reads what leads to a state's frames, and those that are not as they were; `None` if they are not what they
    /// should be.
    fn read(&mut self, state: u64, chain: &mut Chain, memory: &mut KnownMemory) -> Option<Read>;

    /// Reads frames that are not as they were from this innermost one on, to which the same leads as before.
    fn read_from(&self, innermost: u64, chain: &mut Chain, memory: &mut KnownMemory) -> Option<Read>;

    /// A number that what a frame executes shares with nothing else that was at its address; `None` if it is no code.
    /// `note` is given the words that hold as long as it is there.
    fn identity(
        &self,
        frame: &ScriptFrame,
        memory: &mut KnownMemory,
        note: impl FnMut(SavedWord),
    ) -> Option<u64>;

    /// The same with all else that a frame's name depends on.
    #[inline(always)]
    fn full_identity(&self, _frame: &ScriptFrame, identity: u64, _memory: &mut KnownMemory) -> u64 {
        identity
    }

    /// Where a frame is; the function is 0 if it is to be left out.
    fn place(&self, frame: &ScriptFrame, memory: &mut KnownMemory) -> Option<Place>;

    /// Which native frames run the frames of this chain.
    fn evaluations(&mut self, chain: &Chain, memory: &mut KnownMemory) -> Evaluations<'_>;
}
