//! One memo for each of the few stacks that a thread runs on, and the walk that uses them.

use super::branches::Branches;
use super::fresh::Fresh;
use super::labels::{Accessors, Labels};
use super::layout::{Layout, REGIONS};
use super::missed::Missed;
use super::numbered::{Frames, longer, outermost_first};
use super::returns::Returns;
use super::stack::{KnownFrame, Stack};
use super::tag::Tag;
use crate::address::CodeAddress;
use crate::end::End;
use crate::memory::Memory;
use crate::registers::Registers;
use crate::rules::Rules;
use crate::walk::leave;

/// By how much walks with mostly new frames must outnumber the others before matching is suspended for a while.
const STREAK: u32 = 24;
/// Number of walks without matching then.
const REST: u32 = 256;
/// Stacks up to this depth do not count for that.
const SHALLOW: usize = 8;

/// Number of stacks beside the current one.
const OTHERS: usize = REGIONS - 1;

/// Most innermost frames that are left out: a stack that was overwritten may have any number of them.
const LEFT_OUT: usize = 64;

/// Ways of walking: keep everything by which a stack can be remembered, or only the frames' numbers.
const REMEMBERED: bool = true;
const NUMBERED: bool = false;

/// The last stacks of a thread.
#[derive(Debug)]
pub struct Memos<'a> {
    /// The first stack is the one that was used last. Stack pointers above `floor` and up to `top` belong to it.
    stacks: [Stack<'a>; REGIONS],
    floor: u64,
    top: u64,
    /// The index, less one, of the stack that was last replaced by another region.
    next: usize,
    /// Frames of the present walk, newest first.
    fresh: &'a mut [Fresh],
    branches: Branches<'a>,
    missed_walks: u32,
    /// Number of walks that will still do without matching.
    rest: u32,
}

/// The result of a walk.
#[derive(Clone, Copy)]
struct Walked {
    /// What follows its new frames.
    met: WalkEnd,
    /// Number of new frames.
    count: usize,
}

/// What follows the new frames of a walk.
#[derive(Clone, Copy)]
enum WalkEnd {
    /// A frame of the last stack, if it still has the same callers.
    Known(KnownFrame),
    /// The end of the stack.
    End(End),
}

impl<'a> Memos<'a> {
    /// Bytes of memory for stacks of up to `depth` frames.
    pub const fn bytes(depth: usize) -> usize {
        Layout { depth }.bytes()
    }

    /// Empty memos for stacks of up to `depth` frames.
    ///
    /// # Safety
    ///
    /// `memory` is aligned to 64 bytes; its [`Memos::bytes`] are mapped, readable and writable for `'a`, and zeroed
    /// or as other memos of this depth have left them; and nothing else refers to them meanwhile.
    pub unsafe fn from_raw(memory: *mut u8, depth: usize) -> Self {
        // SAFETY: the caller vouches for the memory.
        let (stacks, fresh, branches) = unsafe { Layout { depth }.divide(memory) };
        Self { stacks, floor: 0, top: 0, next: 0, fresh, branches, missed_walks: 0, rest: 0 }
    }

    /// The same for stacks of up to `depth` frames, if there is room for more.
    #[must_use]
    pub fn up_to(self, depth: usize) -> Self {
        let Self { fresh, .. } = self;
        let depth = depth.min(fresh.len());
        Self { fresh: fresh.split_at_mut(depth).0, ..self }
    }

    /// Forgets all stacks. Necessary when modules were unloaded or pages unmapped, and when labels have lost their
    /// meaning.
    pub fn clear(&mut self) {
        self.stacks.iter_mut().for_each(Stack::clear);
        self.branches.clear();
        (self.floor, self.top) = (0, 0);
    }

    /// The label, as a word, of the stack from `start` to its root, if that is exactly the last one that was
    /// remembered. Most loops that allocate end here.
    ///
    /// Cost: about 1 cycle for each frame.
    // In whichever region: if the stack is the last one, unchanged, it is where that was.
    #[inline(always)]
    pub fn same(&self, start: Registers, memory: &mut impl Memory) -> Option<u64> {
        self.current().label_if_same(start, memory)
    }

    /// The label, as a word, of the stack from `start` to its root. To be called when [`Memos::same`] has no answer:
    /// it always walks the newest frame.
    ///
    /// At most `depth` frames count: of a longer stack the innermost `depth` are kept, and it ends with
    /// [`End::Truncated`]. If [`Labels`] returns `None` for a frame, so does this; neither that frame nor newer ones
    /// are remembered then.
    ///
    /// Cost: about 1 cycle for each older frame that is unchanged, 10 ns for each new one, or 25 ns for all frames
    /// that are found together.
    #[inline(always)]
    pub fn stack<M: Memory, R: Rules, L: Labels>(
        &mut self,
        start: Registers,
        accessors: &mut Accessors<M, R, L>,
    ) -> Option<u64> {
        let Registers { ip, sp, bp } = start;
        if sp <= self.floor || sp > self.top {
            return self.stack_elsewhere(ip.to_bits(), sp, bp, accessors);
        }
        self.stack_here(ip.to_bits(), sp, bp, accessors)
    }

    /// The label of a stack in another region, or in none.
    // A function of its own, so that the path of all other stacks needs no frame.
    #[cold]
    #[inline(never)]
    fn stack_elsewhere<M: Memory, R: Rules, L: Labels>(
        &mut self,
        code: u64,
        sp: u64,
        bp: u64,
        accessors: &mut Accessors<M, R, L>,
    ) -> Option<u64> {
        self.choose(sp);
        let start = Registers { ip: CodeAddress::from_bits(code), sp, bp };
        match self.same(start, &mut accessors.memory) {
            None => self.stack_here(code, sp, bp, accessors),
            label => label,
        }
    }

    /// The label of a stack in the current region.
    #[inline(always)]
    fn stack_here<M: Memory, R: Rules, L: Labels>(
        &mut self,
        code: u64,
        sp: u64,
        bp: u64,
        accessors: &mut Accessors<M, R, L>,
    ) -> Option<u64> {
        // The key of this address would be that of a free entry in the tables.
        if code == CodeAddress::Return(0).to_bits() {
            return accessors.labels.empty(End::Broken);
        }
        if self.rest != 0 {
            return self.passing_stack(code, sp, bp, accessors);
        }
        if self.branches.are_due() {
            return self.recalled_stack(code, sp, bp, accessors);
        }
        self.other_stack(code, sp, bp, Missed::NOTHING, accessors)
    }

    // These take the registers as single words: as a whole they would be passed in memory.

    /// The label of a stack that is not remembered.
    #[inline(never)]
    fn passing_stack<M: Memory, R: Rules, L: Labels>(
        &mut self,
        code: u64,
        sp: u64,
        bp: u64,
        accessors: &mut Accessors<M, R, L>,
    ) -> Option<u64> {
        self.rest = self.rest.saturating_sub(1);
        let Walked { met, count } = self.walk::<NUMBERED, _, _, _>((code, sp, bp), 0, accessors);
        let WalkEnd::End(end) = met else { return None };
        let label = accessors.labels.empty(end)?;
        longer(label, outermost_first(self.fresh.get(..count)?), &mut accessors.labels)
    }

    /// The label of a stack that a chain may lead to.
    #[inline(never)]
    fn recalled_stack<M: Memory, R: Rules, L: Labels>(
        &mut self,
        code: u64,
        sp: u64,
        bp: u64,
        accessors: &mut Accessors<M, R, L>,
    ) -> Option<u64> {
        match self.recall((code, sp, bp), accessors) {
            Ok(label) => Some(label),
            Err(missed) => self.other_stack(code, sp, bp, missed, accessors),
        }
    }

    /// The label of a stack that no chain leads to.
    // A function of its own, with all registers to itself: what the next frame waits for must not go through memory.
    #[inline(never)]
    fn other_stack<M: Memory, R: Rules, L: Labels>(
        &mut self,
        code: u64,
        sp: u64,
        bp: u64,
        missed: Missed,
        accessors: &mut Accessors<M, R, L>,
    ) -> Option<u64> {
        let candidates = self.current().len();
        let Walked { met, count } = self.walk::<REMEMBERED, _, _, _>((code, sp, bp), candidates, accessors);
        match met {
            WalkEnd::Known(past) if self.is_whole(past, count, missed, &mut accessors.memory) => {
                self.extend(past, count, missed, &mut accessors.labels)
            }
            WalkEnd::Known(past) => self.mend((code, sp, bp), past.known, missed, accessors),
            WalkEnd::End(end) => self.begin(end, count, &mut accessors.labels),
        }
    }

    /// Whether the frame that was met still has the same callers, and there is room for `count` newer ones.
    #[inline(always)]
    fn is_whole(&self, past: KnownFrame, count: usize, missed: Missed, memory: &mut impl Memory) -> bool {
        past.frames.wrapping_add(count) <= self.fresh.len()
            && self.current().leads_when_met(past.known, missed.reach(), memory)
    }

    /// The label of the frame that was met, extended by the `count` newer ones that were walked.
    #[inline(always)]
    fn extend(
        &mut self,
        KnownFrame { known, frames: older }: KnownFrame,
        count: usize,
        missed: Missed,
        labels: &mut impl Labels,
    ) -> Option<u64> {
        self.weigh(count, older);
        let [stack, ..] = &mut self.stacks;
        if count == 0 {
            return stack.label(known);
        }
        let label = stack.extend(known, self.fresh.get(..count)?, labels)?;
        if let Some(tag) = missed.tag()
            && stack.frames(stack.len()) == older.wrapping_add(count)
        {
            self.branches.keep(tag, stack, known, count);
        }
        Some(label)
    }

    /// The label of a stack that has less in common with the last one than it seemed: the frame that ends at `known`
    /// is there again, but with other callers. Or the frames are too many together with the new ones, and the
    /// outermost have to be cut off.
    #[inline(never)]
    fn mend<M: Memory, R: Rules, L: Labels>(
        &mut self,
        start: (u64, u64, u64),
        known: usize,
        missed: Missed,
        accessors: &mut Accessors<M, R, L>,
    ) -> Option<u64> {
        let reach = missed.reach().unwrap_or_else(|| self.current().reach(&mut accessors.memory));
        let reach = reach.get() as usize;
        let candidates = if reach < known { reach } else { 0 };
        let mut walked = self.walk::<REMEMBERED, _, _, _>(start, candidates, accessors);
        if let WalkEnd::Known(past) = walked.met {
            if past.frames.wrapping_add(walked.count) <= self.fresh.len() {
                return self.extend(past, walked.count, missed, &mut accessors.labels);
            }
            walked = self.walk::<REMEMBERED, _, _, _>(start, 0, accessors);
        }
        let WalkEnd::End(end) = walked.met else { return None };
        self.begin(end, walked.count, &mut accessors.labels)
    }

    /// The label of a stack that has nothing in common with the last one: the `count` frames that were walked up to
    /// this end.
    #[inline(never)]
    fn begin(&mut self, end: End, count: usize, labels: &mut impl Labels) -> Option<u64> {
        let label = labels.empty(end)?;
        self.weigh(count, 0);
        if end == End::Root && self.settle(count) {
            let [stack, ..] = &mut self.stacks;
            stack.begin(label, self.fresh.get(..count)?, labels)
        } else {
            longer(label, outermost_first(self.fresh.get(..count)?), labels)
        }
    }

    /// The same without using the last stacks.
    pub fn stack_afresh<M: Memory, R: Rules, L: Labels>(
        &mut self,
        start: Registers,
        accessors: &mut Accessors<M, R, L>,
    ) -> Option<u64> {
        let (end, frames) = self.frames(start, accessors);
        let label = accessors.labels.empty(end)?;
        longer(label, frames, &mut accessors.labels)
    }

    /// The frames of the stack from `start`, outermost first, and how it ended. The last stacks are neither used nor
    /// forgotten.
    ///
    /// Cost: about 5 ns for each frame.
    pub fn frames<M: Memory, R: Rules, L: Labels>(
        &mut self,
        start: Registers,
        accessors: &mut Accessors<M, R, L>,
    ) -> (End, Frames<'_>) {
        // As in `stack`.
        if start.ip == CodeAddress::Return(0) {
            return (End::Broken, outermost_first(&[]));
        }
        let Registers { ip, sp, bp } = start;
        let Walked { met, count } = self.walk::<REMEMBERED, _, _, _>((ip.to_bits(), sp, bp), 0, accessors);
        let end = match met {
            WalkEnd::End(end) => end,
            // A walk without candidates meets none.
            WalkEnd::Known(_) => End::Broken,
        };
        (end, outermost_first(self.fresh.get(..count).unwrap_or(&[])))
    }

    /// The label of a stack whose newest frames are a known chain on an unchanged frame of the last one.
    ///
    /// # Errors
    /// They are not.
    #[inline(always)]
    fn recall<M: Memory, R: Rules, L>(
        &mut self,
        start: (u64, u64, u64),
        accessors: &mut Accessors<M, R, L>,
    ) -> Result<u64, Missed> {
        let Accessors { memory, rules, .. } = accessors;
        let Some(tag) = Tag::of(start, memory, rules) else { return Err(Missed::NOTHING) };
        let [stack, ..] = &mut self.stacks;
        let mut reach = None;
        let label = self.branches.recall(tag, start, stack, &mut reach, memory);
        let label = label.map_err(|tag| Missed::new(tag, reach))?;
        self.missed_walks = self.missed_walks.saturating_sub(1);
        Ok(label)
    }

    /// Collects new frames until the stack ends or the walk meets one of the last stack's frames up to `candidates`,
    /// whose callers may have changed. Returns what it came to and the number of new frames. When frames are only
    /// `NUMBERED`, nothing but their numbers is kept. It must not begin at the address that marks a free entry in the
    /// tables.
    // The newest frame is not looked for: if it is also the last stack's newest, the stacks still differ, mostly in
    // its caller, as when everybody allocates through one function of a library.
    #[inline(always)]
    fn walk<const IS_KEPT: bool, M: Memory, R: Rules, L: Labels>(
        &mut self,
        (mut code, mut sp, mut bp): (u64, u64, u64),
        candidates: usize,
        accessors: &mut Accessors<M, R, L>,
    ) -> Walked {
        let Accessors { memory, rules, labels } = accessors;
        let (mut count, mut left_out) = (0, 0);
        let mut context = None;
        let [past, ..] = &self.stacks;
        let past = past.candidates(candidates);
        let met = loop {
            let Some(place) = self.fresh.get_mut(count) else { break WalkEnd::End(End::Truncated) };
            let address = CodeAddress::from_bits(code);
            let Some((rule, tag)) = rules.rule(address) else { break WalkEnd::End(End::Broken) };
            let number = labels.number(address, tag);
            if number == 0 && count == 0 {
                if left_out == LEFT_OUT {
                    break WalkEnd::End(End::Broken);
                }
                left_out = left_out.wrapping_add(1);
            } else {
                if IS_KEPT {
                    (place.code, place.sp, place.bp, place.rule) = (code, sp, bp, rule);
                    place.returns = Returns::of(rule, sp, bp, memory);
                }
                place.number = number;
                count = count.wrapping_add(1);
            }
            (code, sp, bp, context) = match leave(rule, (code, sp, bp, context), memory, rules) {
                Ok(words) => words,
                Err(end) => break WalkEnd::End(end),
            };
            if IS_KEPT && let Some(meeting) = past.find(code, sp, bp) {
                break WalkEnd::Known(meeting);
            }
        };
        Walked { met, count }
    }

    #[inline(always)]
    fn current(&self) -> &Stack<'a> {
        let [current, ..] = &self.stacks;
        current
    }

    /// Notes how much of a stack was new.
    #[inline(always)]
    fn weigh(&mut self, count: usize, known: usize) {
        if count > known && count > SHALLOW {
            self.missed_walks = self.missed_walks.wrapping_add(1);
            if self.missed_walks >= STREAK {
                (self.missed_walks, self.rest) = (STREAK / 2, REST);
            }
        } else {
            self.missed_walks = self.missed_walks.saturating_sub(1);
        }
    }

    /// Makes the stack current whose region `sp` lies in: of those with a base at or above it the one with the lowest.
    #[cold]
    #[inline(never)]
    fn choose(&mut self, sp: u64) {
        let above = self.stacks.iter().enumerate().filter(|(_, stack)| stack.base() >= sp);
        if let Some((index, stack)) = above.min_by_key(|(_, stack)| stack.base()) {
            self.take(index, stack.base());
        }
    }

    /// Makes the stack current that has the same base as the `count` frames which were just walked, or one that makes room for them.
    /// False when there are no frames.
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

    /// Makes a stack with this base current. Its region reaches down to the next lower base.
    fn take(&mut self, index: usize, base: u64) {
        self.stacks.swap(0, index);
        self.top = base;
        self.floor = self.stacks.iter().map(Stack::base).filter(|below| *below < base).max().unwrap_or(0);
    }
}
