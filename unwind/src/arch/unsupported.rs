//! A processor whose frames we cannot unwind yet.

use super::Call;
use crate::address::CodeAddress;
use crate::registers::Registers;
use gimli::{Register, Vendor};

/// Whether frames of this processor can be unwound at all.
pub(crate) const SUPPORTED: bool = false;

/// No tables are read.
pub(crate) const VENDOR: Vendor = Vendor::Default;

/// No column of this number is ever used.
pub(crate) const STACK_POINTER: Register = Register(u16::MAX);
/// No column of this number is ever used.
pub(crate) const FRAME_POINTER: Register = Register(u16::MAX - 1);
/// No column of this number is ever used.
pub(crate) const RETURN_ADDRESS: Register = Register(u16::MAX - 2);
/// No column of this number is ever used.
pub(crate) const INSTRUCTION_POINTER: Register = Register(u16::MAX - 3);

/// Not used: nothing is known of calls.
pub(crate) const PUSHES_RETURN_ADDRESS: bool = false;

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

/// The second offset of an ordinary rule: there is none.
pub(crate) fn second_offset(_returns_at: i64, _saved_bp: Option<i64>) -> Option<i64> {
    None
}

/// Not used: no frame is ever left.
pub(crate) const fn returns_at(_second_offset: i64, _saves_bp: bool) -> i64 {
    -8
}

/// Not used: no frame is ever left.
pub(crate) const fn code_address(saved: u64) -> u64 {
    saved
}

/// Whether `code` is a signal trampoline: never known.
pub(crate) fn is_signal_trampoline(_code: &[u8; 16]) -> bool {
    false
}

/// Whether a Boost context is entered here: never known.
pub(crate) fn is_behind_a_first_jump(_before: &[u8; 16]) -> bool {
    false
}

/// The call instruction that ends at `address`: none is known.
pub(crate) fn call_before(_address: u64, _before: &[u8; 16]) -> Option<Call> {
    None
}

/// From the stack pointer to the CFA in a PLT stub: not known.
pub(crate) fn stub_offset(_before: &[u8; 16], _at: &[u8; 16]) -> Option<i32> {
    None
}

/// Whether a function that executes at `ip` has its return address in a register: never.
pub(crate) fn returns_by_register(_ip: u64, _read: impl Fn(u64) -> Option<u32>) -> bool {
    false
}

impl Registers {
    /// Registers from which a walk ends at once.
    pub fn here() -> Self {
        Self { ip: CodeAddress::Exact(0), sp: 0, bp: 0 }
    }
}
