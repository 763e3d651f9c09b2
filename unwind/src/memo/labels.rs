//! What the caller of a walk keeps for stacks, and what it provides to a walk.

use crate::address::CodeAddress;
use crate::end::End;

/// What the caller of a walk keeps for a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// The name of the stack.
    pub id: u32,
    /// The key by which longer stacks are looked up.
    pub key: u32,
}

impl Label {
    /// As one word, in which a label is kept and passed from function to function.
    #[inline(always)]
    pub const fn to_bits(self) -> u64 {
        (self.key as u64) << 32 | self.id as u64
    }

    /// From the word. The halves are separate because they become known at different times: the key of a longer stack
    /// needs no look-up of this one.
    #[inline(always)]
    pub const fn from_bits(bits: u64) -> Self {
        Self { id: bits as u32, key: (bits >> 32) as u32 }
    }
}

/// What a walk with a memo needs, as one value, since only so many arguments are passed in registers.
#[derive(Debug)]
pub struct Accessors<M, R, L> {
    /// Reads the stack.
    pub memory: M,
    /// Tells how frames are left.
    pub rules: R,
    /// Labels stacks.
    pub labels: L,
}

/// How the caller of a walk labels stacks.
pub trait Labels {
    /// The number of a new frame: of its address, with the tag that is stored beside its rule, as in
    /// [`walk()`](crate::walk()). 0 for innermost frames to leave out.
    fn number(&mut self, address: CodeAddress, tag: &mut u32) -> u32;

    /// The label, as a word, of an empty stack that ended this way, if there is one.
    fn empty(&mut self, end: End) -> Option<u64>;

    /// The frames with these numbers, outermost first, are about to be added to a stack one after another.
    #[inline(always)]
    fn announce(&mut self, label: Label, numbers: impl Iterator<Item = u32>) {
        let _ = (label, numbers);
    }

    /// The label of the stack `label` with one more frame, the innermost, if there is one.
    fn longer(&mut self, label: Label, number: u32) -> Option<Label>;

    /// The label of the stack `label` with the frames of these numbers, outermost first, if there is one.
    #[inline(always)]
    fn extended(&mut self, mut label: Label, numbers: impl Iterator<Item = u32>) -> Option<Label> {
        for number in numbers {
            label = self.longer(label, number)?;
        }
        Some(label)
    }
}

impl<L: Labels> Labels for &mut L {
    #[inline(always)]
    fn number(&mut self, address: CodeAddress, tag: &mut u32) -> u32 {
        (**self).number(address, tag)
    }

    fn empty(&mut self, end: End) -> Option<u64> {
        (**self).empty(end)
    }

    #[inline(always)]
    fn announce(&mut self, label: Label, numbers: impl Iterator<Item = u32>) {
        (**self).announce(label, numbers);
    }

    #[inline(always)]
    fn longer(&mut self, label: Label, number: u32) -> Option<Label> {
        (**self).longer(label, number)
    }
}
