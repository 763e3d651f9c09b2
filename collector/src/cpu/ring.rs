//! The ring of one event: the kernel writes records, we copy them out.
//!
//! ```text
//!   page 0: head (the kernel's), tail (ours), how times relate to the time stamp counter
//!   pages 1 … 2ⁿ: records, byte after byte, round and round
//!
//!      tail                head
//!        ▼                   ▼
//!   ─────┬───────────────────┬──────
//!        │ written, not read │
//!   ─────┴───────────────────┴──────
//! ```
//!
//! Positions only grow; modulo the length of the data they are offsets. The kernel never overwrites what we have not
//! released by moving the tail. Records are copied out once, and validated even so.

use super::refusal::locked_memory;
use memmap2::{MmapOptions, MmapRaw};
use perf_event_open_sys::bindings::{self as sys, perf_event_mmap_page as Page};
use rustix::fd::{AsFd, BorrowedFd};
use std::fs::File;
use std::io::{self, Read};
use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// How the kernel's own clock relates to the time stamp counter: `time = zero + (ticks × mult >> shift)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Conversion {
    pub(super) zero: u64,
    pub(super) mult: u32,
    pub(super) shift: u16,
}

/// What an event returns when it is read, besides its count.
pub(super) const READS: u64 = sys::PERF_FORMAT_TOTAL_TIME_RUNNING as u64;

/// Bytes of the largest process record, nearly all of it a path.
const TELLS_IN: u64 = 8 << 10;

/// What was read from a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    /// Bytes.
    pub(super) bytes: usize,
    /// Until now the ring always had room for a process record: none is missing, whatever else was lost.
    pub(super) had_room: bool,
}

/// The totals of an event over all threads that have or inherited it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EventTotals {
    /// Units of what it counts between samples.
    pub(super) counted: u64,
    /// Nanoseconds for which it counted.
    pub(super) ran_ns: u64,
}

impl EventTotals {
    /// The totals so far of an event that was opened with [`READS`]; `None` if the kernel does not provide them.
    pub(super) fn of(mut event: &File) -> Option<EventTotals> {
        let mut words = [0; 16];
        if event.read(&mut words).ok()? != words.len() {
            return None;
        }
        let [counted, ran_ns] = [0, 8].map(|at| {
            let mut word = [0; 8];
            word.copy_from_slice(&words[at..at + 8]);
            u64::from_ne_bytes(word)
        });
        Some(EventTotals { counted, ran_ns })
    }

    /// The sum of both.
    pub(super) fn and(self, other: EventTotals) -> EventTotals {
        let counted = self.counted.saturating_add(other.counted);
        EventTotals { counted, ran_ns: self.ran_ns.saturating_add(other.ran_ns) }
    }
}

/// An event and its mapped ring. Dropping it ends the event.
pub(super) struct Ring {
    event: File,
    memory: MmapRaw,
    /// Bytes for records, a power of two.
    length: usize,
    page: usize,
}

impl Ring {
    /// Maps an event's ring with this number of pages for records, a power of two.
    ///
    /// # Errors
    /// [`io::ErrorKind::OutOfMemory`] also if the user may not lock that much.
    pub(super) fn map(event: File, pages: usize) -> io::Result<Ring> {
        let page = page_size();
        match MmapOptions::new().len((pages + 1) * page).map_raw(&event) {
            Ok(memory) => Ok(Ring { event, memory, length: pages * page, page }),
            // A lack of permission for the event itself would have shown when it was opened.
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => Err(locked_memory()),
            Err(error) => Err(error),
        }
    }

    /// Passes all unread records to `read`, in two pieces if they wrap around, and releases their room. Returns
    /// `None` if the head is impossible; everything up to it is skipped then.
    pub(super) fn take(&mut self, read: impl FnOnce(&[u8], &[u8])) -> Option<Taken> {
        // Acquire pairs with the kernel's store of the head, which follows its writes of the records before it.
        let head = self.word(offset_of!(Page, data_head)).load(Ordering::Acquire);
        // Relaxed: only we write it.
        let tail = self.word(offset_of!(Page, data_tail)).load(Ordering::Relaxed);
        let unread = head.wrapping_sub(tail);
        let taken = usize::try_from(unread).ok().filter(|unread| *unread <= self.length);
        if let Some(unread) = taken {
            let start = tail as usize & (self.length - 1);
            let before_end = unread.min(self.length - start);
            read(self.part(start, before_end), self.part(0, unread - before_end));
        }
        // Release pairs with the kernel's load of the tail, which precedes its writes over what we have copied.
        self.word(offset_of!(Page, data_tail)).store(head, Ordering::Release);
        // The kernel only uses room whose release it has seen. SeqCst keeps the load below behind the store: any
        // record refused before the kernel saw the store was refused with a head that we load here, or that was about
        // to be stored.
        fence(Ordering::SeqCst);
        let used = self.word(offset_of!(Page, data_head)).load(Ordering::Acquire).wrapping_sub(tail);
        let had_room = used.saturating_add(TELLS_IN) <= self.length as u64;
        taken.map(|bytes| Taken { bytes, had_room })
    }

    /// How times relate to the time stamp counter, if the kernel says so.
    pub(super) fn conversion(&self) -> Option<Conversion> {
        // The kernel increments `lock` before and after it changes the page: if the count is even and unchanged, the
        // values read in between belong together.
        for _ in 0..1000 {
            let before = self.half(offset_of!(Page, lock)).load(Ordering::Acquire);
            let capabilities = self.word(offset_of!(Page, __bindgen_anon_1)).load(Ordering::Relaxed);
            let mult = self.half(offset_of!(Page, time_mult)).load(Ordering::Relaxed);
            // `pmc_width` and `time_shift` are two halves of a word.
            let shift = self.half(offset_of!(Page, pmc_width)).load(Ordering::Relaxed) >> 16;
            let zero = self.word(offset_of!(Page, time_zero)).load(Ordering::Relaxed);
            // Keeps the loads above before the one below.
            fence(Ordering::Acquire);
            if before & 1 == 1 || self.half(offset_of!(Page, lock)).load(Ordering::Relaxed) != before {
                continue;
            }
            let is_offered = capabilities & CAP_USER_TIME_ZERO != 0 && mult != 0 && shift < 64;
            return is_offered.then_some(Conversion { zero, mult, shift: shift as u16 });
        }
        None
    }

    /// The event that the ring belongs to.
    pub(super) fn event(&self) -> &File {
        &self.event
    }

    /// Bytes for records.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    fn part(&self, start: usize, length: usize) -> &[u8] {
        let from = self.memory.as_ptr().wrapping_add(self.page + start);
        // SAFETY: the range lies in the mapping, and the kernel writes nothing between tail and head.
        unsafe { std::slice::from_raw_parts(from, length) }
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        let place = self.memory.as_mut_ptr().wrapping_add(offset).cast();
        // SAFETY: an aligned field of the first page, mapped for as long as `self` lives, shared with the kernel.
        unsafe { AtomicU64::from_ptr(place) }
    }

    fn half(&self, offset: usize) -> &AtomicU32 {
        let place = self.memory.as_mut_ptr().wrapping_add(offset).cast();
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(place) }
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

/// `cap_user_time_zero`, the fifth of the page's capability bits.
const CAP_USER_TIME_ZERO: u64 = 1 << 4;

const _: () = {
    assert!(offset_of!(Page, data_head) == 1024 && offset_of!(Page, data_tail) == 1032);
    assert!(offset_of!(Page, pmc_width) == 48 && offset_of!(Page, time_shift) == 50);
    assert!(offset_of!(Page, __bindgen_anon_1) == 40);
};

pub(super) fn page_size() -> usize {
    rustix::param::page_size()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring in an ordinary file; the test plays the kernel.
    fn ring() -> Ring {
        Ring::made(&[])
    }

    impl Ring {
        /// A ring in an ordinary file, with these records.
        pub(in crate::cpu) fn made(records: &[u8]) -> Ring {
            let file = tempfile::tempfile().unwrap();
            file.set_len(17 * page_size() as u64).unwrap();
            let ring = Ring::map(file, 16).unwrap();
            ring.write(0, records);
            ring
        }

        fn take_all(&mut self, bytes: &mut Vec<u8>) -> Option<Taken> {
            self.take(|first, second| bytes.extend([first, second].concat()))
        }

        fn write(&self, at: u64, bytes: &[u8]) {
            for (offset, byte) in (at..).zip(bytes) {
                let place = self.page + (offset as usize & (self.length - 1));
                // SAFETY: the place lies in the mapping, which nobody else uses.
                unsafe { self.memory.as_mut_ptr().wrapping_add(place).write(*byte) };
            }
            self.word(offset_of!(Page, data_head)).store(at + bytes.len() as u64, Ordering::Release);
        }
    }

    /// Check that records come out as they went in, across the end of the ring, and that their room is released.
    #[test]
    fn records_come_out_round_the_end() {
        let mut ring = ring();
        let (mut at, mut expected, mut found) = (0, Vec::new(), Vec::new());
        for round in 0..100u32 {
            let bytes: Vec<u8> = (0..3000 + round).map(|n| (n ^ round) as u8).collect();
            ring.write(at, &bytes);
            at += bytes.len() as u64;
            expected.extend(&bytes);
            assert_eq!(ring.take_all(&mut found), Some(Taken { bytes: bytes.len(), had_room: true }));
            assert_eq!(ring.word(offset_of!(Page, data_tail)).load(Ordering::Relaxed), at);
        }
        assert_eq!(found, expected);
    }

    /// Check that a head more than a ring's length ahead gives nothing, and that the tail catches up with it.
    #[test]
    fn impossible_head_is_skipped() {
        let mut ring = ring();
        let mut bytes = Vec::new();
        for head in [ring.length as u64 + 1, u64::MAX, 5] {
            ring.word(offset_of!(Page, data_head)).store(head, Ordering::Relaxed);
            let expected = if head == 5 { Some(6) } else { None };
            assert_eq!(ring.take_all(&mut bytes).map(|taken| taken.bytes), expected, "{head:#x}");
        }
        assert_eq!(ring.take_all(&mut bytes), Some(Taken { bytes: 0, had_room: true }));
    }

    /// Check that a ring without room for a process record says so, and that one with just enough does not.
    #[test]
    fn full_rings_say_so() {
        let mut ring = ring();
        let (mut at, mut bytes) = (0, Vec::new());
        let most = ring.length - TELLS_IN as usize;
        for (length, had_room) in [(most, true), (most + 1, false), (ring.length, false), (8, true)] {
            ring.write(at, &vec![7; length]);
            at += length as u64;
            assert_eq!(ring.take_all(&mut bytes), Some(Taken { bytes: length, had_room }));
        }
    }

    /// Check that the clock conversion is read if it is offered, but not while it is being changed.
    #[test]
    fn conversion_is_read_whole() {
        let ring = ring();
        assert_eq!(ring.conversion(), None);
        ring.word(offset_of!(Page, time_zero)).store(77, Ordering::Relaxed);
        ring.half(offset_of!(Page, time_mult)).store(5, Ordering::Relaxed);
        ring.half(offset_of!(Page, pmc_width)).store(3 << 16 | 48, Ordering::Relaxed);
        assert_eq!(ring.conversion(), None);
        ring.word(offset_of!(Page, __bindgen_anon_1)).store(CAP_USER_TIME_ZERO, Ordering::Relaxed);
        assert_eq!(ring.conversion(), Some(Conversion { zero: 77, mult: 5, shift: 3 }));
        ring.half(offset_of!(Page, lock)).store(1, Ordering::Relaxed);
        assert_eq!(ring.conversion(), None);
    }
}
