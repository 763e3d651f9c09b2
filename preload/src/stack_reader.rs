//! Reading the host's stack without ever faulting, and without knowing its bounds.
//!
//! A thread's stack may be the main one, one of `pthread_create`, a coroutine's or a signal stack; nobody tells us
//! where it ends, and asking (`pthread_getattr_np`, `/proc/self/maps`) allocates, locks or opens files. So the
//! reader keeps one range of pages that are known to be readable, which begins at the page of the stack pointer and
//! grows upwards as walks reach further; each new page is asked of the kernel once.

use crate::arch;
use crate::modules;
use unwind::Memory;

const PAGE: u64 = 4096;

/// Stacks are contiguous, and this is the largest piece of one that is taken for granted between two frames.
const LARGEST_FRAME: u64 = 1 << 23;

/// Pages that are known to be readable.
#[derive(Clone, Copy, Debug, Default)]
struct Range {
    start: u64,
    end: u64,
}

impl Range {
    #[inline(always)]
    fn contains(self, address: u64) -> bool {
        address >= self.start && address < self.end.saturating_sub(7)
    }

    /// Grows until it contains the word, if that lies on the same stack and all pages on the way can be read.
    fn grow(&mut self, address: u64) -> bool {
        let last = address.wrapping_add(7);
        if address < self.start || last.saturating_sub(self.end) > LARGEST_FRAME {
            return false;
        }
        while self.end <= last {
            if !arch::is_readable(self.end) {
                return false;
            }
            self.end = self.end.wrapping_add(PAGE);
        }
        true
    }
}

/// The pages of the current stack that are known to be readable, and those of the one that it interrupted: a signal
/// handler may run on a stack of its own.
#[derive(Debug, Default)]
pub(crate) struct StackReader {
    here: Range,
    below: Range,
    /// Generation of unmappings that the ranges belong to.
    unmapped: u32,
}

impl StackReader {
    /// Begins a walk whose innermost frame has the stack pointer `sp`.
    // Cost: three compares when the stack is the one of the last walk.
    #[inline(always)]
    pub(crate) fn begin(&mut self, sp: u64) {
        if !self.here.contains(sp) || self.unmapped != modules::unmappings() {
            self.restart(sp);
        }
    }

    #[cold]
    #[inline(never)]
    fn restart(&mut self, sp: u64) {
        let unmapped = modules::unmappings();
        if self.unmapped != unmapped {
            *self = Self { unmapped, ..Self::default() };
        }
        // The page of the stack pointer is in use by the caller right now. What is known just above stays known, so
        // that a stack which grows does not ask for everything again.
        let start = sp & !(PAGE - 1);
        let end = if start.wrapping_add(PAGE) == self.here.start {
            self.here.end
        } else {
            start.wrapping_add(PAGE)
        };
        self.here = Range { start, end };
    }

    #[cold]
    #[inline(never)]
    fn is_readable(&mut self, address: u64) -> bool {
        if self.here.grow(address) || self.below.contains(address) || self.below.grow(address) {
            return true;
        }
        // The frame that a signal interrupted lies on another stack.
        let start = address & !(PAGE - 1);
        self.below = Range { start, end: start };
        arch::is_readable(start) && self.below.grow(address)
    }
}

impl Memory for StackReader {
    #[inline(always)]
    fn read(&mut self, address: u64) -> Option<u64> {
        if !self.here.contains(address) && !self.is_readable(address) {
            return None;
        }
        // SAFETY: the word lies in pages that the kernel said are readable, on stacks of this very thread.
        Some(unsafe { core::ptr::read_volatile(address as *const u64) })
    }
}
