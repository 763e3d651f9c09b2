//! The frames of a walk, for its caller.

use super::fresh::Fresh;
use super::{Label, Labels};
use core::iter::Rev;
use core::slice;

/// A frame of a stack: the number that [`Labels`] gave it, and its place on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// See [`Labels::number`].
    pub number: u32,
    /// Its stack pointer: the frame's own part of the stack begins there and reaches up to its caller's.
    pub sp: u64,
}

/// The frames of a walk, outermost first.
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    fresh: Rev<slice::Iter<'a, Fresh>>,
}

impl Iterator for Frames<'_> {
    type Item = Numbered;

    #[inline(always)]
    fn next(&mut self) -> Option<Numbered> {
        self.fresh.next().map(|fresh| Numbered { number: fresh.number, sp: fresh.sp })
    }
}

/// The frames of a walk, which has the newest first.
#[inline(always)]
pub(super) fn outermost_first(fresh: &[Fresh]) -> Frames<'_> {
    Frames { fresh: fresh.iter().rev() }
}

/// The label of a stack extended by these frames.
#[inline(always)]
pub(super) fn longer(label: u64, frames: Frames<'_>, labels: &mut impl Labels) -> Option<u64> {
    let (label, numbers) = (Label::from_bits(label), frames.map(|frame| frame.number));
    labels.announce(label, numbers.clone());
    Some(labels.extended(label, numbers)?.to_bits())
}
