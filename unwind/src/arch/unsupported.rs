//! A machine whose frames we cannot unwind yet.

use super::Call;
use crate::{CodeAddress, Registers};
use gimli::Register;

/// Whether frames of this machine can be unwound at all.
pub(crate) const SUPPORTED: bool = false;

/// No column of this number is ever used.
pub(crate) const STACK_POINTER: Register = Register(u16::MAX);
/// No column of this number is ever used.
pub(crate) const FRAME_POINTER: Register = Register(u16::MAX - 1);
/// No column of this number is ever used.
pub(crate) const RETURN_ADDRESS: Register = Register(u16::MAX - 2);

/// Not used: no signal frame is known.
pub(crate) const SAVED_BP: i64 = 0;
/// Not used: no signal frame is known.
pub(crate) const SAVED_SP: i64 = 8;
/// Not used: no signal frame is known.
pub(crate) const SAVED_IP: i64 = 16;

/// The registers of an interrupted frame: none is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SignalContext(());

impl SignalContext {
    /// The context that the signal trampoline with stack pointer `sp` will restore.
    pub(crate) const fn at(_sp: u64) -> Option<Self> {
        Some(Self(()))
    }

    /// Where the value of `register` was saved: not known.
    pub(crate) fn slot(self, _register: Register) -> Option<u64> {
        None
    }
}

/// Whether `code` is a signal trampoline: never known.
pub(crate) fn is_signal_trampoline(_code: &[u8; 16]) -> bool {
    false
}

/// The call instruction that ends at `address`: none is known.
pub(crate) fn call_before(_address: u64, _before: &[u8; 16]) -> Option<Call> {
    None
}

/// From the stack pointer to the CFA in a linkage stub: not known.
pub(crate) fn stub_offset(_before: &[u8; 16], _at: &[u8; 16]) -> Option<i32> {
    None
}

impl Registers {
    /// Registers from which a walk ends at once.
    pub fn here() -> Self {
        Self { ip: CodeAddress::Exact(0), sp: 0, bp: 0 }
    }
}
