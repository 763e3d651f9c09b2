//! One memo for each of the few stacks that a thread runs on, and the walk that uses them.

use super::branches::Branches;
use super::layout::{Layout, REGIONS};
use super::past::{Fresh, Stack};
use super::tag::Tag;
use crate::walk::leave;
use crate::{CodeAddress, End, Frame, Memory, Registers, Rules};
use core::iter::Rev;
use core::slice;

/// Walks in which most frames were new, less the others, until matching is given up for a while.
const STREAK: u32 = 24;
/// Walks without matching then.
const REST: u32 = 256;
/// Stacks up to this depth do not count there.
const SHALLOW: usize = 8;

/// Stacks beside the current one.
const OTHERS: usize = REGIONS - 1;

/// Most innermost frames that are left out. A stack that somebody has written over may have any number of them.
const LEFT_OUT: usize = 64;

/// Ways to walk: with all that a stack can be remembered by, or with the frames' numbers alone.
const REMEMBERED: bool = true;
const NUMBERED: bool = false;

/// The last stacks of a thread.
#[derive(Debug)]
pub struct Memos<'a> {
    /// The first is the one that was used last. Stack pointers above `floor` and up to `top` are its own.
    stacks: [Stack<'a>; REGIONS],
    floor: u64,
    top: u64,
    /// Less one: the one that made room for a region last.
    next: usize,
    /// Frames of the walk that is going on, the newest first.
    fresh: &'a mut [Fresh],
    branches: Branches<'a>,
    strangers: u32,
    /// Walks that still go without matching.
    rest: u32,
}

/// What the caller of a walk keeps for a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// What the stack is called.
    pub id: u32,
    /// What longer ones are looked for by.
    pub key: u32,
}

impl Label {
    /// As one word, in which it is kept, and handed from function to function.
    #[inline(always)]
    pub const fn to_bits(self) -> u64 {
        (self.key as u64) << 32 | self.id as u64
    }

    /// From the word. Only apart from each other do the halves become known at different times: the key of a longer stack needs no
    /// look-up of this one.
    #[inline(always)]
    pub const fn from_bits(bits: u64) -> Self {
        Self { id: bits as u32, key: (bits >> 32) as u32 }
    }
}

/// How the caller of a walk labels stacks.
pub trait Labels {
    /// The number of a new frame: of its address, with the tag that lies beside its rule, as in
    /// [`walk()`](crate::walk()). 0 for innermost frames that are to be left out.
    fn number(&mut self, address: CodeAddress, tag: &mut u32) -> u32;

    /// The label of the empty stack that ended so, as a word, if there is one.
    fn empty(&mut self, end: End) -> Option<u64>;

    /// The label of the stack `label` with one more frame, the innermost, if there is one.
    fn longer(&mut self, label: Label, number: u32) -> Option<Label>;
}

/// A frame of a stack: the number that [`Labels`] gave it, and where on the stack it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// See [`Labels::number`].
    pub number: u32,
    /// Its stack pointer: what the frame has on the stack lies there and above, up to its caller's.
    pub sp: u64,
}

/// The frames that a walk has met, the outermost first.
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    fresh: Rev<slice::Iter<'a, Fresh>>,
}

impl Iterator for Frames<'_> {
    type Item = Numbered;

    fn next(&mut self) -> Option<Numbered> {
        self.fresh.next().map(|fresh| Numbered { number: fresh.number, sp: fresh.sp })
    }
}

/// What a walk came to, after its new frames.
#[derive(Clone, Copy)]
enum Met {
    /// So many frames of the last stack, unchanged.
    Past(usize),
    /// An end.
    End(End),
}

impl<'a> Memos<'a> {
    /// Bytes of memory for stacks of up to `depth` frames.
    pub const fn bytes(depth: usize) -> usize {
        Layout { depth }.bytes()
    }

    /// Empty memos for stacks of up to `depth` frames, in zeroed memory.
    ///
    /// # Safety
    ///
    /// `memory` is aligned to 8 bytes, its [`Memos::bytes`] are mapped, readable, writable and initialised for `'a`, and
    /// nothing else refers to them meanwhile.
    pub unsafe fn from_raw(memory: *mut u8, depth: usize) -> Self {
        // SAFETY: the caller vouches for the memory.
        let (stacks, fresh, branches) = unsafe { Layout { depth }.divide(memory) };
        Self { stacks, floor: 0, top: 0, next: 0, fresh, branches, strangers: 0, rest: 0 }
    }

    /// Forgets all stacks. Due when modules were unloaded or pages unmapped, and when labels have lost their meaning.
    pub fn clear(&mut self) {
        self.stacks.iter_mut().for_each(Stack::clear);
        self.branches.clear();
        (self.floor, self.top) = (0, 0);
    }

    /// The label of the stack from `start` to its root, as a word, if that is just the last one of its region. Most loops that allocate
    /// end here.
    ///
    /// Cost: about 1 cycle for each frame.
    #[inline(always)]
    pub fn same(&self, start: Registers, memory: &mut impl Memory) -> Option<u64> {
        if start.sp <= self.floor || start.sp > self.top || self.rest != 0 {
            return None;
        }
        self.current().label_if_same(start, memory)
    }

    /// The label of the stack from `start` to its root, as a word.
    ///
    /// At most `depth` frames count; a longer stack has that many, the innermost, and ended with [`End::Truncated`].
    /// `None` is what [`Labels`] said; the new frames are not remembered then.
    ///
    /// Cost: about 1 cycle for each older frame that is unchanged, 10 ns for each new one, or 25 ns for all of those that are
    /// found together.
    #[inline(always)]
    pub fn stack<M: Memory, R: Rules>(
        &mut self,
        start: Registers,
        memory: &mut M,
        rules: &mut R,
        labels: &mut impl Labels,
    ) -> Option<u64> {
        if start.sp <= self.floor || start.sp > self.top {
            self.choose(start.sp);
        }
        // The key of that address would be that of a free place in the tables.
        let matches = self.rest == 0 && start.ip != CodeAddress::Return(0);
        let candidates = if matches { self.current().unchanged(start.sp, memory) } else { 0 };
        let tag = match self.recall(start, candidates, memory, rules) {
            Ok(label) => return Some(label),
            Err(tag) => tag,
        };
        let (mut met, mut count) = if matches {
            self.walk::<REMEMBERED, _, _>(start, candidates, memory, rules, labels)
        } else {
            self.walk::<NUMBERED, _, _>(start, 0, memory, rules, labels)
        };
        if let Met::Past(known) = met
            && known.wrapping_add(count) > self.fresh.len()
        {
            // Together they are too long: the outermost ones are to be cut off.
            (met, count) = self.walk_afresh(start, memory, rules, labels);
        }
        let (known, label) = match met {
            Met::Past(known) => (known, self.current().label(known)?),
            Met::End(end) => (0, labels.empty(end)?),
        };
        self.weigh(count, known);
        let is_remembered = match met {
            Met::Past(_) if count == 0 => return Some(label),
            Met::Past(_) => true,
            Met::End(end) => matches && end == End::Root && self.settle(count),
        };
        let [stack, ..] = &mut self.stacks;
        let mut fresh = self.fresh.get(..count)?.iter().rev();
        if is_remembered {
            let label = stack.extend(known, label, fresh, labels);
            if let Some(tag) = tag
                && stack.len() == known.wrapping_add(count)
            {
                self.branches.keep(tag, stack, known);
            }
            label
        } else {
            let label = Label::from_bits(label);
            fresh.try_fold(label, |label, fresh| labels.longer(label, fresh.number)).map(Label::to_bits)
        }
    }

    /// The same, without a look at the last stacks.
    pub fn stack_afresh<M: Memory, R: Rules>(
        &mut self,
        start: Registers,
        memory: &mut M,
        rules: &mut R,
        labels: &mut impl Labels,
    ) -> Option<u64> {
        let (end, mut frames) = self.frames(start, memory, rules, labels);
        let label = Label::from_bits(labels.empty(end)?);
        frames.try_fold(label, |label, frame| labels.longer(label, frame.number)).map(Label::to_bits)
    }

    /// The frames of the stack from `start`, the outermost first, and how it ended. The last stacks are neither looked at nor
    /// forgotten.
    ///
    /// Cost: about 5 ns for each frame.
    pub fn frames<M: Memory, R: Rules>(
        &mut self,
        start: Registers,
        memory: &mut M,
        rules: &mut R,
        labels: &mut impl Labels,
    ) -> (End, Frames<'_>) {
        let (met, count) = self.walk_afresh(start, memory, rules, labels);
        let end = match met {
            Met::End(end) => end,
            // Of a walk that does not look at the past.
            Met::Past(_) => End::Broken,
        };
        (end, Frames { fresh: self.fresh.get(..count).unwrap_or(&[]).iter().rev() })
    }

    /// The label of a stack whose newest frames have hung before on one of the oldest `candidates` frames of the last one.
    ///
    /// # Errors
    /// What to keep its frames by, if they are worth it.
    #[inline(always)]
    fn recall<M: Memory, R: Rules>(
        &mut self,
        start: Registers,
        candidates: usize,
        memory: &mut M,
        rules: &mut R,
    ) -> Result<u64, Option<Tag>> {
        if candidates == 0 || !self.branches.are_due() {
            return Err(None);
        }
        let Some(tag) = Tag::of(start, memory, rules) else { return Err(None) };
        let [stack, ..] = &mut self.stacks;
        let label = self.branches.recall(tag, start, stack, candidates, memory).map_err(Some)?;
        self.strangers = self.strangers.saturating_sub(1);
        Ok(label)
    }

    /// Collects all frames.
    #[cold]
    #[inline(never)]
    fn walk_afresh<M: Memory, R: Rules>(
        &mut self,
        start: Registers,
        memory: &mut M,
        rules: &mut R,
        labels: &mut impl Labels,
    ) -> (Met, usize) {
        self.walk::<REMEMBERED, _, _>(start, 0, memory, rules, labels)
    }

    /// Collects new frames until an end, or one of the oldest `candidates` frames of the last stack; what there was, and how
    /// many new ones. Of frames that are only `NUMBERED` nothing else is kept.
    // A function of its own, which has all registers for itself: what a frame waits for must not go by way of memory.
    #[inline(never)]
    fn walk<const IS_KEPT: bool, M: Memory, R: Rules>(
        &mut self,
        start: Registers,
        mut candidates: usize,
        memory: &mut M,
        rules: &mut R,
        labels: &mut impl Labels,
    ) -> (Met, usize) {
        // The key of this address would be that of a free place in the tables.
        if start.ip == CodeAddress::Return(0) {
            return (Met::End(End::Broken), 0);
        }
        let [past, ..] = &self.stacks;
        let depth = self.fresh.len();
        let mut free = self.fresh.iter_mut();
        let mut left_out = 0;
        let (mut code, mut sp, mut bp, mut context) = Frame::innermost(start).into_words();
        let met = loop {
            if IS_KEPT && past.finds(&mut candidates, code, sp, bp) {
                break Met::Past(candidates);
            }
            if free.len() == 0 {
                break Met::End(End::Truncated);
            }
            let address = CodeAddress::from_bits(code);
            let Some((rule, tag)) = rules.rule(address) else { break Met::End(End::Broken) };
            let number = labels.number(address, tag);
            if number == 0 && free.len() == depth {
                if left_out == LEFT_OUT {
                    break Met::End(End::Broken);
                }
                left_out = left_out.wrapping_add(1);
            } else if let Some(place) = free.next() {
                if IS_KEPT {
                    *place = Fresh { code, sp, bp, rule, number };
                } else {
                    place.number = number;
                }
            }
            (code, sp, bp, context) = match leave(rule, (code, sp, bp, context), memory, rules) {
                Ok(words) => words,
                Err(end) => break Met::End(end),
            };
        };
        (met, depth.wrapping_sub(free.len()))
    }

    #[inline(always)]
    fn current(&self) -> &Stack<'a> {
        let [current, ..] = &self.stacks;
        current
    }

    /// Notes how much of a stack was new.
    #[inline(always)]
    fn weigh(&mut self, count: usize, known: usize) {
        if self.rest != 0 {
            self.rest = self.rest.wrapping_sub(1);
        } else if count > known && count > SHALLOW {
            self.strangers = self.strangers.wrapping_add(1);
            if self.strangers >= STREAK {
                (self.strangers, self.rest) = (STREAK / 2, REST);
            }
        } else {
            self.strangers = self.strangers.saturating_sub(1);
        }
    }

    /// Takes the stack whose region `sp` lies in: the one with the lowest base that is not below.
    #[cold]
    #[inline(never)]
    fn choose(&mut self, sp: u64) {
        let above = self.stacks.iter().enumerate().filter(|(_, stack)| stack.base() >= sp);
        if let Some((index, stack)) = above.min_by_key(|(_, stack)| stack.base()) {
            self.take(index, stack.base());
        }
    }

    /// Takes the stack that has the base of the `count` frames which were just walked, or one that makes room for it.
    /// False when there are none.
    #[cold]
    #[inline(never)]
    fn settle(&mut self, count: usize) -> bool {
        let Some(outermost) = count.checked_sub(1).and_then(|last| self.fresh.get(last)) else {
            return false;
        };
        let base = outermost.sp;
        let same = self.stacks.iter().position(|stack| stack.base() == base);
        let index =
            same.or_else(|| self.stacks.iter().position(|stack| stack.base() == 0)).unwrap_or_else(|| {
                self.next = self.next.wrapping_add(1) % OTHERS;
                self.next.wrapping_add(1)
            });
        if let Some(stack) = self.stacks.get_mut(index) {
            stack.clear();
        }
        self.take(index, base);
        true
    }

    /// Makes a stack the current one, whose base is this. Its region reaches down to the next base.
    fn take(&mut self, index: usize, base: u64) {
        self.stacks.swap(0, index);
        self.top = base;
        self.floor = self.stacks.iter().map(Stack::base).filter(|below| *below < base).max().unwrap_or(0);
    }
}
