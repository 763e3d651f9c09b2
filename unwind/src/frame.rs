//! The state that a walk carries from frame to frame.

use crate::address::CodeAddress;
use crate::arch::SignalContext;
use crate::end::End;
use crate::registers::Registers;

/// One frame of a walk: its registers, and the signal context that holds the others if a signal interrupted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    // Compact, because the next look-up waits for this word, which is also its key.
    code: u64,
    sp: u64,
    bp: u64,
    context: Option<SignalContext>,
}

impl Frame {
    /// The innermost frame.
    #[inline]
    pub const fn innermost(start: Registers) -> Self {
        Self { code: start.ip.to_bits(), sp: start.sp, bp: start.bp, context: None }
    }

    /// The innermost frame of a copied stack; its other registers are at `context`, if they were copied.
    pub(crate) const fn sampled(start: Registers, context: Option<SignalContext>) -> Self {
        Self { context, ..Self::innermost(start) }
    }

    /// The caller of an ordinary frame, to which `address` returns. By convention the outermost frame returns to 0.
    #[inline(always)]
    pub(crate) const fn caller(address: u64, sp: u64, bp: u64) -> Result<Self, End> {
        // One comparison for both odd cases: bit 63 belongs to the kernel's half of addresses, and to our own mark.
        match address.cast_signed() {
            1.. => Ok(Self { code: address, sp, bp, context: None }),
            0 => Err(End::Root),
            _ => Err(End::Broken),
        }
    }

    /// The frame that a signal interrupted, whose registers are in `context`.
    pub(crate) const fn interrupted(
        address: u64,
        sp: u64,
        bp: u64,
        context: Option<SignalContext>,
    ) -> Result<Self, End> {
        match address.cast_signed() {
            0.. => Ok(Self { code: CodeAddress::Exact(address).to_bits(), sp, bp, context }),
            _ => Err(End::Broken),
        }
    }

    /// Where the frame executes.
    #[inline]
    pub const fn code(&self) -> CodeAddress {
        CodeAddress::from_bits(self.code)
    }

    /// Its stack pointer.
    #[inline]
    pub const fn sp(&self) -> u64 {
        self.sp
    }

    /// Its rbp.
    #[inline]
    pub const fn bp(&self) -> u64 {
        self.bp
    }

    /// The frame as separate words.
    #[inline(always)]
    pub(crate) const fn into_words(self) -> (u64, u64, u64, Option<SignalContext>) {
        (self.code, self.sp, self.bp, self.context)
    }

    /// The frame of these words.
    #[inline(always)]
    pub(crate) const fn from_words(code: u64, sp: u64, bp: u64, context: Option<SignalContext>) -> Self {
        Self { code, sp, bp, context }
    }

    /// The saved registers of the frame, if a signal interrupted it.
    pub(crate) const fn context(&self) -> Option<SignalContext> {
        self.context
    }
}
