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

/// The pages of the current stack that are known to be readable.
#[derive(Debug, Default)]
pub(crate) struct StackReader {
    start: u64,
    end: u64,
    /// Generation of unmappings that the range belongs to.
    unmapped: u32,
}

impl StackReader {
    /// Begins a walk whose innermost frame has the stack pointer `sp`.
    // Cost: two compares when the stack is the one of the last walk.
    #[inline(always)]
    pub(crate) fn begin(&mut self, sp: u64) {
        if sp < self.start || sp >= self.end || self.unmapped != modules::unmappings() {
            self.restart(sp);
        }
    }

    #[cold]
    #[inline(never)]
    fn restart(&mut self, sp: u64) {
        let page = sp & !(PAGE - 1);
        let unmapped = modules::unmappings();
        // The page of the stack pointer is in use by the caller right now. A range just above stays known, so that
        // a stack which grows does not ask for everything again.
        if self.unmapped != unmapped || page.wrapping_add(PAGE) != self.start {
            self.end = page.wrapping_add(PAGE);
        }
        self.start = page;
        self.unmapped = unmapped;
    }

    #[cold]
    #[inline(never)]
    fn extend(&mut self, address: u64) -> bool {
        let last = address.wrapping_add(7);
        // Stacks are contiguous: a word far beyond what is known is not one of this stack.
        if address < self.end.saturating_sub(7) || last.saturating_sub(self.end) > 1 << 23 {
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

impl Memory for StackReader {
    #[inline(always)]
    fn read(&mut self, address: u64) -> Option<u64> {
        if address < self.start || address >= self.end.wrapping_sub(7) {
            if address < self.start || !self.extend(address) {
                return None;
            }
        }
        // SAFETY: the word lies in pages that the kernel said are readable, on the stack of this very thread.
        Some(unsafe { core::ptr::read_volatile(address as *const u64) })
    }
}
