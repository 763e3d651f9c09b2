//! Where a walk starts.

use crate::address::CodeAddress;

/// The registers of the innermost frame, where a walk starts.
///
/// Three are enough: on x86-64, every table row of compiled code at a call computes its frame from the stack pointer
/// or from rbp. In a hook at its entry these are the return address found at `[rsp]` ([`CodeAddress::Return`]),
/// `rsp + 8`, and `rbp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// Where the frame executes.
    pub ip: CodeAddress,
    /// Its stack pointer: the value of rsp in that frame after the callee has returned.
    pub sp: u64,
    /// Its frame pointer register, whether or not it holds a frame pointer.
    pub bp: u64,
}
