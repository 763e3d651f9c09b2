//! The registers of a sample, all that a walk begins with.
//!
//! The kernel writes those that were asked for in the order of their numbers: rbp, rsp and rip on x86-64; x29, x30, sp and pc on 64-bit
//! ARM, where a function that calls no others has its return address in x30 alone.

use perf_event_open_sys::bindings as sys;
use unwind::CodeAddress;

/// Their numbers: frame pointer, link register, stack pointer, instruction pointer.
#[cfg(not(target_arch = "aarch64"))]
pub(crate) const NUMBERS: [u32; COUNT] = [sys::PERF_REG_X86_BP, sys::PERF_REG_X86_SP, sys::PERF_REG_X86_IP];
/// Their numbers: frame pointer, link register, stack pointer, instruction pointer.
#[cfg(target_arch = "aarch64")]
pub(crate) const NUMBERS: [u32; COUNT] =
    [sys::PERF_REG_ARM64_X29, sys::PERF_REG_ARM64_LR, sys::PERF_REG_ARM64_SP, sys::PERF_REG_ARM64_PC];

/// How many they are.
pub(crate) const COUNT: usize = if HAS_LINK { 4 } else { 3 };

/// Whether calls leave the return address in a register.
pub(crate) const HAS_LINK: bool = cfg!(target_arch = "aarch64");

/// The same as the kernel is asked for them: a bit for each.
pub(super) const MASK: u64 = {
    let (mut mask, mut place) = (0, 0);
    while place < COUNT {
        mask |= 1 << NUMBERS[place];
        place += 1;
    }
    mask
};

/// Where a walk begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) ip: u64,
    pub(crate) sp: u64,
    pub(crate) bp: u64,
    /// None on machines that have no such register.
    pub(crate) link: Option<u64>,
}

impl Start {
    /// Of registers in the order of [`NUMBERS`].
    pub(crate) fn of(words: [u64; COUNT]) -> Start {
        match *words.as_slice() {
            [bp, link, sp, ip] => Start { ip, sp, bp, link: Some(link) },
            [bp, .., sp, ip] => Start { ip, sp, bp, link: None },
            _ => unreachable!("there are three or four"),
        }
    }

    /// As the unwinder has them, beside the link register.
    pub(crate) fn registers(self) -> unwind::Registers {
        unwind::Registers { ip: CodeAddress::Exact(self.ip), sp: self.sp, bp: self.bp }
    }
}
