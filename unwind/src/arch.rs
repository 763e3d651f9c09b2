//! What differs between processors: register numbers, signal frames, reading one's own registers.
//!
//! Each processor has a file with the same items. On a processor without one, nothing is known, and every walk ends
//! with [`End::NoUnwindInfo`](crate::End::NoUnwindInfo).

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "reading the current registers takes one asm block")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;

#[cfg(target_arch = "aarch64")]
#[expect(unsafe_code, reason = "reading the current registers takes one asm block")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::*;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod unsupported;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) use unsupported::*;

use crate::address::CodeAddress;

/// The kind of call that a return address follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    expect(dead_code, reason = "no call is recognised there")
)]
pub(crate) enum Call {
    /// A call to a fixed address.
    Direct(u64),
    /// A call through a register or a word of memory.
    Indirect,
}

impl CodeAddress {
    /// The code address in a return address word: functions on 64-bit ARM may have signed it.
    #[inline]
    pub const fn without_signature(word: u64) -> u64 {
        code_address(word)
    }
}
