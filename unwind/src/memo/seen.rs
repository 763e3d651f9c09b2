//! A frame of the last stack, as it is remembered.

use super::identity::Identity;
use crate::arch;
use crate::saved_words::SavedWord;

/// What is remembered of a frame of the last stack beside its address and stack pointer.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Past {
    /// What the caller of the walk keeps for the stack that ends here.
    pub(super) label: u64,
    pub(super) bp: u64,
    /// How many frames the stack up to this one has.
    pub(super) frames: u32,
    pub(super) bp_is: Bp,
    /// Its address and stack pointer, if the word does not tell them.
    pub(super) identity: Identity,
}

/// What the value of rbp in a frame is needed for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Bp {
    /// There is no frame here: the word beside this is no return address.
    #[default]
    NoFrame,
    /// Not needed.
    Dead,
    /// An older frame is left by it.
    Live,
}

impl Bp {
    #[inline(always)]
    pub(super) fn of(is_live: bool) -> Self {
        if is_live { Self::Live } else { Self::Dead }
    }
}

impl Past {
    /// Beside a word that is no return address.
    pub(super) const NONE: Self =
        Self { label: 0, bp: 0, frames: 0, bp_is: Bp::NoFrame, identity: Identity::NONE };

    /// Whether this is a frame with these registers, as far as they matter and the word beside it does not tell.
    #[inline(always)]
    pub(super) fn has(&self, code: u64, sp: u64, bp: u64) -> bool {
        let is_bp = match self.bp_is {
            Bp::NoFrame => false,
            Bp::Dead => true,
            Bp::Live => self.bp == bp,
        };
        is_bp && self.identity.may_be_of(code, sp)
    }

    /// The frame's stack pointer; `word` is the one beside it.
    #[inline(always)]
    pub(super) fn sp(&self, word: &SavedWord) -> u64 {
        self.identity.parts().map_or(word.address.wrapping_add(8), |(_, sp)| sp)
    }
}

/// A word, and the frame that it identifies.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Seen {
    /// The word by which its callee returns to it. Where calls push, this is its address, just below its stack
    /// pointer.
    pub(super) word: SavedWord,
    pub(super) past: Past,
}

impl AsRef<SavedWord> for Seen {
    #[inline(always)]
    fn as_ref(&self) -> &SavedWord {
        &self.word
    }
}

impl Seen {
    /// What the caller of the walk keeps for the stack that ends here.
    #[inline(always)]
    pub(super) fn label(&self) -> u64 {
        self.past.label
    }

    /// Whether its registers are these, as far as they matter.
    #[inline(always)]
    pub(super) fn is_at(&self, code: u64, sp: u64, bp: u64) -> bool {
        self.word.may_be_of(code, sp) && self.past.has(code, sp, bp)
    }
}

impl SavedWord {
    /// Whether this can be the word by which a frame with this address and stack pointer is returned to. Where calls
    /// do not push, any word can.
    #[inline(always)]
    fn may_be_of(&self, code: u64, sp: u64) -> bool {
        !arch::PUSHES_RETURN_ADDRESS || (self.address == sp.wrapping_sub(8) && self.value == code)
    }
}
