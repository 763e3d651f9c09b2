//! What the caller of a walk keeps for stacks, and what a walk asks.

use crate::{CodeAddress, End};

/// What the caller of a walk keeps for a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// What the stack is called.
    pub id: u32,
    /// What longer ones are looked for by.
    pub key: u32,
}

impl Label {
    /// As one word, in which it is kept, and handed from function to function.
    #[inline(always)]
    pub const fn to_bits(self) -> u64 {
        (self.key as u64) << 32 | self.id as u64
    }

    /// From the word. Only apart from each other do the halves become known at different times: the key of a longer stack needs no
    /// look-up of this one.
    #[inline(always)]
    pub const fn from_bits(bits: u64) -> Self {
        Self { id: bits as u32, key: (bits >> 32) as u32 }
    }
}

/// What a walk with a memo asks on its way, as one value: so many arguments are passed to a function in registers, and no more.
#[derive(Debug)]
pub struct Accessors<M, R, L> {
    /// Reads the stack.
    pub memory: M,
    /// Says how frames are left.
    pub rules: R,
    /// Labels stacks.
    pub labels: L,
}

/// How the caller of a walk labels stacks.
pub trait Labels {
    /// The number of a new frame: of its address, with the tag that lies beside its rule, as in
    /// [`walk()`](crate::walk()). 0 for innermost frames that are to be left out.
    fn number(&mut self, address: CodeAddress, tag: &mut u32) -> u32;

    /// The label of the empty stack that ended so, as a word, if there is one.
    fn empty(&mut self, end: End) -> Option<u64>;

    /// The frames with these numbers, the outermost first, are about to be added to a stack one after the other.
    #[inline(always)]
    fn announce(&mut self, label: Label, numbers: impl Iterator<Item = u32>) {
        let _ = (label, numbers);
    }

    /// The label of the stack `label` with one more frame, the innermost, if there is one.
    fn longer(&mut self, label: Label, number: u32) -> Option<Label>;

    /// The label of the stack `label` with the frames of these numbers, the outermost first, if there is one.
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
