//! What identifies a frame, beside its word.

use crate::arch;

/// Address and stack pointer of a frame, on processors whose calls push nothing: where the return address to it lies,
/// and with what signature, is up to the function that it has called. Where a call pushes the address, the word says
/// both, and this is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Identity([u64; LENGTH]);

const LENGTH: usize = if arch::PUSHES_RETURN_ADDRESS { 0 } else { 2 };

impl Identity {
    /// The identity of no frame.
    pub(super) const NONE: Self = Self([0; LENGTH]);

    #[inline(always)]
    pub(super) fn of(code: u64, sp: u64) -> Self {
        let mut identity = Self::NONE;
        if let [own_code, own_sp] = identity.0.as_mut_slice() {
            (*own_code, *own_sp) = (code, sp);
        }
        identity
    }

    /// The address and the stack pointer, if they are known.
    #[inline(always)]
    pub(super) fn parts(self) -> Option<(u64, u64)> {
        if let [code, sp] = *self.0.as_slice() { Some((code, sp)) } else { None }
    }

    /// Whether it can be that of a frame with these registers.
    #[inline(always)]
    pub(super) fn may_be_of(self, code: u64, sp: u64) -> bool {
        self == Self::of(code, sp)
    }
}
