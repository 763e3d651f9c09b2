//! The registers of a sample, with which a walk begins.
//!
//! The kernel writes the requested registers in order of their numbers: rbp, rsp and rip on x86-64; x29, x30, sp and
//! pc on 64-bit ARM, where a leaf function has its return address in x30 alone.

use perf_event_open_sys::bindings as sys;
use unwind::CodeAddress;

/// Register numbers: frame pointer, stack pointer, instruction pointer.
#[cfg(not(target_arch = "aarch64"))]
pub(crate) const NUMBERS: [u32; COUNT] = [sys::PERF_REG_X86_BP, sys::PERF_REG_X86_SP, sys::PERF_REG_X86_IP];
/// Register numbers: frame pointer, link register, stack pointer, instruction pointer.
#[cfg(target_arch = "aarch64")]
pub(crate) const NUMBERS: [u32; COUNT] =
    [sys::PERF_REG_ARM64_X29, sys::PERF_REG_ARM64_LR, sys::PERF_REG_ARM64_SP, sys::PERF_REG_ARM64_PC];

/// Number of registers.
pub(crate) const COUNT: usize = if HAS_LINK { 4 } else { 3 };

/// Whether calls leave the return address in a register.
pub(crate) const HAS_LINK: bool = cfg!(target_arch = "aarch64");

/// The same registers as the mask that asks the kernel for them.
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
    /// None on machines without a link register.
    pub(crate) link: Option<u64>,
}

impl Start {
    /// From registers in the order of [`NUMBERS`].
    pub(crate) fn of(words: [u64; COUNT]) -> Start {
        match *words.as_slice() {
            [bp, link, sp, ip] => Start { ip, sp, bp, link: Some(link) },
            [bp, .., sp, ip] => Start { ip, sp, bp, link: None },
            _ => unreachable!("there are three or four"),
        }
    }

    /// The registers as the unwinder takes them; the link register is passed separately.
    pub(crate) fn registers(self) -> unwind::Registers {
        unwind::Registers { ip: CodeAddress::Exact(self.ip), sp: self.sp, bp: self.bp }
    }
}
