//! Reads the host's stack without ever faulting and without knowing its bounds.
//!
//! A thread's stack may be the main one, one of `pthread_create`, a coroutine's or a signal stack. Nothing tells
//! where it ends, and asking (`pthread_getattr_np`, `/proc/self/maps`) allocates, locks or opens files. So the reader
//! keeps a few ranges of pages that are known to be readable. A range begins at the page of a walk's stack pointer
//! and grows upwards as walks reach further; each new page is asked of the kernel once. On a stack in a block of
//! libc's allocator, which may be unmapped unnoticed ([`crate::modules::arenas`]), each walk asks anew. As soon as anything but
//! a thread's own stack is kept, frees of large blocks are watched ([`crate::modules::mapped_blocks`]).
//!
//! When a program is about to forbid asking ([`crate::record::sandbox`]), its stack is learned as a whole. The main stack may
//! grow later, but the kernel keeps the addresses below it free of everything else: whatever lies above one of its
//! pages is part of it.

use crate::modules::{arenas, mapped_blocks};
use crate::platform::allowed_calls::{self, Need};
use crate::platform::{arch, sys};
use unwind::{Memory, SavedWord, SavedWords};

const PAGE: u64 = 4096;

/// Stacks are contiguous: between two frames at most this much is taken for one stack.
const LARGEST_FRAME: u64 = 1 << 23;

/// Largest gap between two known pieces of a stack that is probed. A frame that large has left it.
const LARGEST_GAP: u64 = 1 << 16;

/// Most bytes of a stack that are learned in each direction.
const LEARNED: u64 = 64 << 20;

/// Ranges that are kept: the stack in use, and stacks that the thread was on before.
const RANGES: usize = 5;

/// Pages that are known to be readable.
#[derive(Clone, Copy, Debug, Default)]
struct Range {
    start: u64,
    end: u64,
    /// End of the addresses at which a whole word of the range begins; 0 in an empty range.
    words_end: u64,
}

impl Range {
    fn new(start: u64, end: u64) -> Range {
        Range { start, end, words_end: end.saturating_sub(7) }
    }

    fn end_at(&mut self, end: u64) {
        *self = Range::new(self.start, end);
    }

    /// True when the word at `address` lies in the range.
    #[inline(always)]
    fn contains(self, address: u64) -> bool {
        address >= self.start && address < self.words_end
    }

    /// True when all words from `lowest` up to `highest`, which is not below it, lie in the range.
    #[inline(always)]
    fn spans(self, lowest: u64, highest: u64) -> bool {
        lowest >= self.start && highest < self.words_end
    }

    /// Grows until it contains the word, if the word lies on the same stack and all pages up to it can be read. Pages
    /// that `others` contain need not be asked about.
    fn grow(&mut self, address: u64, others: &[Range], own: &mut OwnStack) -> bool {
        let last = address.wrapping_add(7);
        if self.end == 0 || address < self.start || last.saturating_sub(self.end) > LARGEST_FRAME {
            return false;
        }
        while self.end <= last {
            if let Some(other) = others.iter().find(|other| other.start <= self.end && self.end < other.end) {
                self.end_at(other.end);
            } else if self.is_readable_behind() {
                own.keep(self.end);
                self.end_at(self.end.wrapping_add(PAGE));
            } else {
                return false;
            }
        }
        true
    }

    /// True when the page after the range can be read.
    #[cold]
    fn is_readable_behind(&self) -> bool {
        sys::is_readable(self.end) || {
            // SAFETY: reads a word that the kernel passed at the start: the place of the program's name, at the end
            // of the stack.
            let top = unsafe { libc::getauxval(libc::AT_EXECFN) };
            !allowed_calls::allows(Need::Probe)
                && self.end < top
                && top.wrapping_sub(self.start) < arenas::MAIN_STACK
        }
    }
}

/// The stack that libc has given a thread, as far as its pages are known to be readable. It stays as long as the
/// thread.
#[derive(Debug, Default)]
struct OwnStack {
    /// The last pages of it; empty for the first thread, whose stack is known by its address.
    known: Option<Range>,
}

impl OwnStack {
    /// Has frees of large blocks watched if this page, which is about to be remembered, is not part of the stack.
    #[cold]
    fn keep(&mut self, page: u64) {
        if !self.has(page) {
            mapped_blocks::watch();
        }
    }

    /// True when all pages from this one to the end of the stack can be read, where libc keeps what it knows about the
    /// thread, and our block with it: below its stack a thread has a page that it may not touch.
    fn has(&mut self, page: u64) -> bool {
        if arenas::is_on_main_stack(page) {
            return true;
        }
        let known = self.known.get_or_insert_with(|| {
            let last = core::ptr::from_ref(arch::thread_local()).addr() as u64 & !(PAGE - 1);
            let is_first = sys::thread_id() == sys::process_id();
            if is_first { Range::default() } else { Range::new(last, last.wrapping_add(PAGE)) }
        });
        if page >= known.end || known.start.saturating_sub(page) > LARGEST_FRAME {
            return false;
        }
        while page < known.start && sys::is_readable(known.start.wrapping_sub(PAGE)) {
            known.start = known.start.wrapping_sub(PAGE);
        }
        page >= known.start
    }
}

/// Number of words that are compared without a check of how many are left.
const BLOCK: usize = 16;

/// What is known to be readable on a thread's stacks.
#[derive(Debug, Default)]
pub(crate) struct StackReader {
    /// A walk that begins in this range may use `here` as it is; empty when that may have been unmapped.
    kept: Range,
    /// The stack of the present walk.
    here: Range,
    /// Other ranges, most recently used first: earlier pieces of this stack, other stacks, and the stack that was
    /// interrupted by a signal handler on a stack of its own.
    others: [Range; RANGES - 1],
    /// The stack that was learned as a whole.
    learned: Range,
    own: OwnStack,
}

impl StackReader {
    /// Begins a walk whose innermost frame has the stack pointer `sp`.
    // Cost: two compares when the stack is the one of the last walk.
    #[inline(always)]
    pub(crate) fn begin(&mut self, sp: u64) {
        if !self.kept.contains(sp) {
            self.change(sp);
        }
    }

    /// Forgets everything, since pages may have been unmapped.
    pub(crate) fn forget(&mut self) {
        // Nobody unmaps the stack that a thread is running on.
        let own = core::mem::take(&mut self.own);
        *self = Self { learned: self.learned, own, ..Self::default() };
    }

    /// Asks about all pages around `sp`, since that will not be possible later.
    #[cold]
    pub(crate) fn learn(&mut self, sp: u64) {
        let page = sp & !(PAGE - 1);
        let mut range = Range::new(page, page.wrapping_add(PAGE));
        let is_near = |address: u64| address.abs_diff(page) < LEARNED;
        while is_near(range.start) && sys::is_readable(range.start.wrapping_sub(PAGE)) {
            range.start = range.start.wrapping_sub(PAGE);
        }
        while is_near(range.end) && sys::is_readable(range.end) {
            range.end_at(range.end.wrapping_add(PAGE));
        }
        self.learned = range;
    }

    /// Switches to the range that contains `sp`, or to a new one: its page is in use by the caller right now.
    #[cold]
    #[inline(never)]
    fn change(&mut self, sp: u64) {
        let is_kept = self.kept.end != 0;
        if is_kept && self.here.contains(sp) {
            // The range has grown.
            self.kept = self.here;
            return;
        }
        let known = self.others.iter().position(|other| other.contains(sp));
        let mut next = None;
        if is_kept {
            let mut before = self.here;
            let last = known.unwrap_or(RANGES);
            for other in self.others.iter_mut().take(last.saturating_add(1)) {
                core::mem::swap(other, &mut before);
            }
            next = known.map(|_| before);
        } else if let Some(other) = known.and_then(|known| self.others.get_mut(known)) {
            next = Some(core::mem::take(other));
        }
        if self.learned.contains(sp) && next.is_none_or(|next| next.end < self.learned.end) {
            next = Some(self.learned);
        }
        let start = sp & !(PAGE - 1);
        self.here = next.unwrap_or(Range::new(start, start.wrapping_add(PAGE)));
        let is_lasting = next.is_some() || !arenas::may_give_back(sp);
        if next.is_none() && is_lasting {
            self.own.keep(start);
        }
        self.kept = if is_lasting { self.here } else { Range::default() };
    }

    /// True when all `words`, whose addresses are aligned and descending, lie on the walk's own stack.
    #[inline(always)]
    fn spans<W: AsRef<SavedWord> + Copy>(&self, words: &[W]) -> bool {
        let (Some(highest), Some(lowest)) = (words.first(), words.last()) else { return true };
        self.here.spans(lowest.as_ref().address, highest.as_ref().address)
    }

    /// Like `unchanged`, but word by word, since the words may lie in pages that were not asked about yet.
    #[cold]
    #[inline(never)]
    fn unchanged_anywhere<W: AsRef<SavedWord> + Copy>(&mut self, words: &[W]) -> usize {
        words.iter().map(AsRef::as_ref).take_while(|word| self.read(word.address) == Some(word.value)).count()
    }

    // It only checks and does not read: a returned word would go through memory, and the next frame would wait for
    // it.
    #[cold]
    #[inline(never)]
    fn are_readable(&mut self, first: u64, second: u64) -> bool {
        let mut is_known = |address| self.here.contains(address) || self.is_readable(address);
        is_known(first) && is_known(second)
    }

    #[cold]
    #[inline(never)]
    fn is_readable(&mut self, address: u64) -> bool {
        let known = self.others.iter().find(|other| other.contains(address)).copied();
        // An earlier piece of this stack becomes part of it again.
        let is_near = known.is_none_or(|other| other.start.wrapping_sub(self.here.end) < LARGEST_GAP);
        if (is_near && self.here.grow(address, &self.others, &mut self.own)) || known.is_some() {
            return true;
        }
        // The frame that a signal interrupted lies on another stack.
        let others = self.others;
        if self.others.iter_mut().any(|other| other.grow(address, &others, &mut self.own)) {
            return true;
        }
        let start = address & !(PAGE - 1);
        if !sys::is_readable(start) {
            return false;
        }
        if arenas::may_give_back(address) {
            return sys::is_readable(address.wrapping_add(7) & !(PAGE - 1));
        }
        let mut other = Range::new(start, start.wrapping_add(PAGE));
        self.own.keep(start);
        let is_whole = other.grow(address, &others, &mut self.own);
        self.others.rotate_right(1);
        if let Some(first) = self.others.first_mut() {
            *first = other;
        }
        is_whole
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

    #[inline(always)]
    fn read_both(&mut self, first: u64, second: u64) -> Option<(u64, u64)> {
        let are_here = second <= first && self.here.spans(second, first);
        if !are_here && !self.are_readable(first, second) {
            return None;
        }
        // SAFETY: the word lies in pages that the kernel said are readable, on stacks of this very thread.
        let first = unsafe { core::ptr::read_volatile(first as *const u64) };
        // SAFETY: as above.
        let second = unsafe { core::ptr::read_volatile(second as *const u64) };
        Some((first, second))
    }

    #[inline(always)]
    fn unchanged<W: AsRef<SavedWord> + Copy>(&mut self, words: SavedWords<'_, W>) -> usize {
        if cfg!(feature = "forgetful") && self.holds(words) {
            return words.as_slice().len();
        }
        let words = words.as_slice();
        if !self.spans(words) {
            return self.unchanged_anywhere(words);
        }
        // SAFETY: the words lie in pages that the kernel said are readable.
        unsafe { unchanged_here(words) }
    }

    #[inline(always)]
    fn holds<W: AsRef<SavedWord> + Copy>(&mut self, words: SavedWords<'_, W>) -> bool {
        let words = wanted(words);
        if !self.spans(words) {
            return self.unchanged_anywhere(words) == words.len();
        }
        // SAFETY: the words lie in pages that the kernel said are readable.
        unsafe { hold(words) }
    }

    #[inline(always)]
    fn holds_any_number<W: AsRef<SavedWord> + Copy>(&mut self, words: SavedWords<'_, W>) -> bool {
        let words = wanted(words);
        if !self.spans(words) {
            return self.unchanged_anywhere(words) == words.len();
        }
        // SAFETY: the words lie in pages that the kernel said are readable.
        unsafe { hold_in_blocks(words) }
    }
}

/// The words to be compared: all of them, except in the negative control of `scripts/soundness`.
#[inline(always)]
fn wanted<W: AsRef<SavedWord> + Copy>(words: SavedWords<'_, W>) -> &[W] {
    let words = words.as_slice();
    #[cfg(feature = "forgetful")]
    let words = words.get(words.len().saturating_sub(4)..).unwrap_or(words);
    words
}

/// Whether a word has its saved value.
///
/// # Safety
/// The word can be read.
#[inline(always)]
unsafe fn holds(word: &SavedWord) -> bool {
    // SAFETY: the caller vouches for it.
    unsafe { core::ptr::read_volatile(word.address as *const u64) == word.value }
}

/// How many of `words`, from the first on, have their saved value.
///
/// # Safety
/// All can be read.
// A function of its own, so that it has all registers to itself.
#[inline(never)]
unsafe fn unchanged_here<W: AsRef<SavedWord> + Copy>(words: &[W]) -> usize {
    // SAFETY: the caller vouches for all of them.
    let holds = |word: &W| unsafe { holds(word.as_ref()) };
    // In fours: fewer checks for the end.
    let mut count = 0;
    while let Some([a, b, c, d]) = words.get(count..).and_then(<[W]>::first_chunk)
        && holds(a)
        && holds(b)
        && holds(c)
        && holds(d)
    {
        count = count.wrapping_add(4);
    }
    while words.get(count).is_some_and(holds) {
        count = count.wrapping_add(1);
    }
    count
}

/// Whether all `words` have their saved value.
///
/// # Safety
/// All can be read.
// In eights and fours, with one branch for each word: this is what a hook in a deep stack does most.
#[inline(always)]
unsafe fn hold<W: AsRef<SavedWord> + Copy>(words: &[W]) -> bool {
    // SAFETY: the caller vouches for all of them.
    let holds = |word: &W| unsafe { holds(word.as_ref()) };
    let (eights, rest) = words.as_chunks::<8>();
    for words in eights {
        if !words.iter().all(holds) {
            return false;
        }
    }
    let rest = match rest.split_first_chunk::<4>() {
        Some((words, _)) if !words.iter().all(holds) => return false,
        Some((_, rest)) => rest,
        None => rest,
    };
    for word in rest {
        if !holds(word) {
            return false;
        }
    }
    true
}

/// The same where the number of words varies from call to call: in blocks of one size, the oldest of which overlaps
/// the next. Comparing some words twice costs less than a loop whose end is mispredicted.
///
/// # Safety
/// All can be read.
#[inline(always)]
unsafe fn hold_in_blocks<W: AsRef<SavedWord> + Copy>(words: &[W]) -> bool {
    // SAFETY: the caller vouches for all of them.
    let holds = |word: &W| unsafe { holds(word.as_ref()) };
    let Some((oldest, mut newer)) = words.split_first_chunk::<BLOCK>() else {
        // SAFETY: as above.
        return unsafe { hold(words) };
    };
    while let Some((rest, block)) = newer.split_last_chunk::<BLOCK>() {
        if !block.iter().all(holds) {
            return false;
        }
        newer = rest;
    }
    // The rest fills a block together with some of the oldest words. Without a rest, this block is the oldest itself.
    let rest = words.get(newer.len()..).and_then(<[_]>::first_chunk::<BLOCK>);
    rest.is_some_and(|block| block.iter().all(holds)) && oldest.iter().all(holds)
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, hold, hold_in_blocks, unchanged_here};
    use unwind::SavedWord;

    /// Check that each way of comparing finds the one word that has changed, wherever it is and however many there
    /// are.
    #[test]
    fn each_changed_word_is_found() {
        for count in 0..4 * BLOCK {
            let mut memory: Vec<u64> = (0..count as u64).collect();
            let address = |word: &u64| core::ptr::from_ref(word).addr() as u64;
            let words: Vec<_> =
                memory.iter().map(|word| SavedWord { address: address(word), value: *word }).collect();
            for changed in 0..=count {
                // When `changed` is past the last word, nothing has changed.
                let is_same = changed == count;
                if let Some(word) = memory.get_mut(changed) {
                    *word = u64::MAX;
                }
                // SAFETY: all words lie in the vector.
                assert_eq!(unsafe { hold(&words) }, is_same, "{changed} of {count}");
                // SAFETY: as above.
                assert_eq!(unsafe { hold_in_blocks(&words) }, is_same, "{changed} of {count}");
                // SAFETY: as above.
                assert_eq!(unsafe { unchanged_here(&words) }, changed, "{changed} of {count}");
                if let Some(word) = memory.get_mut(changed) {
                    *word = changed as u64;
                }
            }
        }
    }
}
