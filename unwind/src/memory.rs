//! Reading the stack.

use crate::End;

/// The stack words that a walk may read.
///
/// Every address that a walk derives goes through here, so an implementation is also the bound of what a
/// damaged stack can make it touch.
pub trait Memory {
    /// The word at `address`, a multiple of 8; `None` if it cannot be read.
    fn read(&mut self, address: u64) -> Option<u64>;
}

/// The word at `address`, or how a walk ends that needs it: no stack word lies at an odd address.
#[inline(always)]
pub(crate) fn word(memory: &mut impl Memory, address: u64) -> Result<u64, End> {
    if !address.is_multiple_of(8) {
        return Err(End::Broken);
    }
    memory.read(address).ok_or(End::Unreadable)
}
