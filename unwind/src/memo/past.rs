//! The last stack of one region, frame by frame.

use super::Labels;
use super::saved::{SavedWord, SavedWords, WordStack};
use crate::rule::Ordinary;
use crate::{Kind, Memory, Registers, Rule};

/// A frame that a walk has met, before it is known what its caller's caller … is.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Fresh {
    /// Compact form of its address.
    pub(super) code: u64,
    pub(super) sp: u64,
    pub(super) bp: u64,
    /// How it is left.
    pub(super) rule: u64,
    /// See [`Labels::number`](super::Labels::number).
    pub(super) number: u32,
}

/// A frame of the last stack.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Past {
    code: u64,
    sp: u64,
    bp: u64,
    /// What the caller of the walk keeps for the stack that ends here.
    label: u64,
    /// How many of the further words belong to this frame and older ones.
    others: u32,
    /// Whether an older frame is left by way of the value that rbp has in this one.
    is_bp_live: bool,
}

impl Past {
    /// What the caller of the walk keeps for the stack that ends here.
    #[inline(always)]
    pub(super) fn label(&self) -> u64 {
        self.label
    }

    /// Whether these are its registers, as far as they matter.
    #[inline(always)]
    pub(super) fn is_at(&self, registers: Registers) -> bool {
        self.sp == registers.sp
            && self.code == registers.ip.to_bits()
            && (self.bp == registers.bp || !self.is_bp_live)
    }
}

/// The caller of a frame that is added.
#[derive(Clone, Copy)]
struct Older {
    code: u64,
    sp: u64,
    bp: u64,
    is_bp_live: bool,
}

impl Older {
    #[inline(always)]
    fn of(past: &Past) -> Self {
        Self { code: past.code, sp: past.sp, bp: past.bp, is_bp_live: past.is_bp_live }
    }
}

/// The last stack that was walked in one region of addresses, oldest frame first.
///
/// ```text
///  stack                        frames             returns                      others
///  ┌───────────────┐ high       oldest: _start     (its caller: none)
///  │ … _start      │            main               where main returns: _start
///  │ … main        │            parse              where parse returns: main    rbp that parse saved, if it is live
///  │ … parse       │            …                  …                            …
///  └───────────────┘ low ◄─ sp  newest
/// ```
///
/// From a frame with the same address, the same sp and, where it matters, the same rbp, a walk leads to the same older
/// frames as last time if all words that it reads on the way hold what they held then. `returns` and `others` are those
/// words. Nothing here is ever trusted: an old stack is a guess that is checked whole.
#[derive(Debug)]
pub(super) struct Stack<'a> {
    frames: &'a mut [Past],
    len: usize,
    returns: WordStack<'a>,
    others: WordStack<'a>,
    /// Number of the first of `returns` that is read: the outermost frame may end without reading one.
    first: usize,
}

/// Stands for the return address of a frame that has none.
const NOWHERE: SavedWord = SavedWord { address: !7, value: 0 };

impl<'a> Stack<'a> {
    pub(super) fn new(
        frames: &'a mut [Past],
        returns: &'a mut [SavedWord],
        others: &'a mut [SavedWord],
    ) -> Self {
        Self { frames, len: 0, returns: WordStack::new(returns), others: WordStack::new(others), first: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.truncate(0);
    }

    /// Stack pointer of the oldest frame, 0 when there is none.
    pub(super) fn base(&self) -> u64 {
        if self.len == 0 { 0 } else { self.frames.first().map_or(0, |frame| frame.sp) }
    }

    /// The label of the oldest `count` frames.
    #[inline(always)]
    pub(super) fn label(&self, count: usize) -> Option<u64> {
        Some(self.frames.get(count.checked_sub(1)?)?.label)
    }

    /// How many frames, from the oldest on, lead to the same callers as before: every word by which they did lies at `sp`
    /// or above and holds what it held.
    #[inline(always)]
    pub(super) fn unchanged(&self, sp: u64, memory: &mut impl Memory) -> usize {
        let returns = memory.unchanged(self.returns.range(self.first, self.len), sp);
        let count = returns.wrapping_add(self.first).min(self.len);
        let Some(newest) = count.checked_sub(1).and_then(|newest| self.frames.get(newest)) else { return 0 };
        if newest.others == 0 {
            return count;
        }
        match memory.unchanged(self.others.range(0, newest.others as usize), sp) {
            others if others == newest.others as usize => count,
            others => {
                self.frames.iter().take(count).position(|frame| frame.others as usize > others).unwrap_or(0)
            }
        }
    }

    /// The label of the whole stack, if these are the registers of its newest frame and nothing has changed.
    #[inline(always)]
    pub(super) fn label_if_same(&self, start: Registers, memory: &mut impl Memory) -> Option<u64> {
        let newest = self.frames.get(self.len.checked_sub(1)?)?;
        (newest.is_at(start) && self.unchanged(start.sp, memory) == self.len).then_some(newest.label)
    }

    /// Number of frames.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The newest of the oldest `count` frames.
    #[inline(always)]
    pub(super) fn frame(&self, count: usize) -> Option<Past> {
        self.frames.get(count.checked_sub(1)?).copied()
    }

    /// Whether the newest of the oldest `count` frames is this one.
    #[inline(always)]
    pub(super) fn has(&self, count: usize, frame: &Past) -> bool {
        let Some(past) = count.checked_sub(1).and_then(|last| self.frames.get(last)) else { return false };
        past.code == frame.code
            && past.sp == frame.sp
            && past.label == frame.label
            && past.others == frame.others
            && past.is_bp_live == frame.is_bp_live
            && (past.bp == frame.bp || !past.is_bp_live)
    }

    /// The frames after the first `known`, of which `root` is the last, and their words.
    pub(super) fn newer_than(&self, known: usize, root: Past) -> (&[Past], &[SavedWord], &[SavedWord]) {
        let frames = self.frames.get(known..self.len).unwrap_or(&[]);
        let others = frames.last().map_or(0, |last| last.others as usize);
        let returns = self.returns.range(known, self.len).as_slice();
        (frames, returns, self.others.range(root.others as usize, others).as_slice())
    }

    /// Adds frames, the oldest first, that have been here before, and the words that led through them.
    pub(super) fn append(&mut self, frames: &[Past], (returns, others): (SavedWords<'_>, SavedWords<'_>)) {
        let end = self.len.wrapping_add(frames.len());
        if let Some(room) = self.frames.get_mut(self.len..end) {
            room.copy_from_slice(frames);
            self.len = end;
            self.returns.append(returns);
            self.others.append(others);
        }
    }

    /// Whether the frame with these registers is one of the first `candidates`. Then that is frame number
    /// `candidates - 1`; else `candidates` are those that a caller of it may still be.
    // Cost: one comparison for a frame that lies below all candidates.
    #[inline(always)]
    pub(super) fn finds(&self, candidates: &mut usize, code: u64, sp: u64, bp: u64) -> bool {
        while let Some(last) = candidates.checked_sub(1)
            && let Some(past) = self.frames.get(last)
            && past.sp <= sp
        {
            if past.sp == sp && past.code == code && (!past.is_bp_live || past.bp == bp) {
                return true;
            }
            // Callers lie higher, and the candidates before this one lie higher, too.
            *candidates = last;
        }
        false
    }

    /// Forgets all frames but the oldest `len`.
    #[inline(always)]
    pub(super) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        self.returns.truncate(len);
        let others = len.checked_sub(1).and_then(|last| self.frames.get(last)).map_or(0, |last| last.others);
        self.others.truncate(others as usize);
    }

    /// Forgets all frames but the oldest `known`, whose label is `label`, and adds those that they have called, oldest first,
    /// as far as they can be remembered. Gives the label of all, if there is one.
    #[inline(always)]
    pub(super) fn extend<'f>(
        &mut self,
        known: usize,
        mut label: u64,
        fresh: impl Iterator<Item = &'f Fresh>,
        labels: &mut impl Labels,
    ) -> Option<u64> {
        self.truncate(known);
        // Field by field, in registers: a frame that was just written cannot be read back quickly as a whole.
        let mut older = known.checked_sub(1).and_then(|last| self.frames.get(last)).map(Older::of);
        let mut is_whole = true;
        for fresh in fresh {
            label = labels.longer(label, fresh.number)?;
            if is_whole {
                match self.push(fresh, label, older) {
                    Some(is_bp_live) => {
                        older = Some(Older { code: fresh.code, sp: fresh.sp, bp: fresh.bp, is_bp_live });
                    }
                    None => is_whole = false,
                }
            }
        }
        Some(label)
    }

    /// Adds the frame that the newest one, `older`, has called: whether its rbp matters. `None` if it can't be remembered:
    /// then no newer one can.
    #[inline(always)]
    fn push(&mut self, fresh: &Fresh, label: u64, older: Option<Older>) -> Option<bool> {
        let rule = Rule::from_bits(fresh.rule)?;
        let is_bp_live = match older {
            Some(older) => self.push_words(fresh, rule, &older),
            None => self.push_outermost(fresh, rule),
        }?;
        let place = self.frames.get_mut(self.len)?;
        let Fresh { code, sp, bp, .. } = *fresh;
        *place = Past { code, sp, bp, label, others: self.others.len() as u32, is_bp_live };
        self.len = self.len.wrapping_add(1);
        Some(is_bp_live)
    }

    /// Adds the words by which `fresh` led to `older`; whether its rbp mattered, or `None` if not all is known.
    #[inline(always)]
    fn push_words(&mut self, fresh: &Fresh, rule: Rule, older: &Older) -> Option<bool> {
        // An interrupted frame was found by a signal frame, which may lie on another stack.
        if older.code >> 63 != 0 || fresh.sp >= older.sp {
            return None;
        }
        let Some(Ordinary { uses_bp, saves_bp }) = rule.ordinary() else {
            return self.push_unusual(fresh, rule, older);
        };
        let is_saved = !(saves_bp && older.is_bp_live)
            || self.others.push(older.sp.wrapping_add_signed(rule.bp_offset()), older.bp);
        let is_bp_live = uses_bp | (!saves_bp & older.is_bp_live);
        (is_saved && self.push_return(older)).then_some(is_bp_live)
    }

    /// The return address lies just below the caller's frame.
    #[inline(always)]
    fn push_return(&mut self, older: &Older) -> bool {
        self.returns.push(older.sp.wrapping_sub(8), older.code)
    }

    /// As `push_words`, for the kinds that are rare.
    #[cold]
    #[inline(never)]
    fn push_unusual(&mut self, fresh: &Fresh, rule: Rule, older: &Older) -> Option<bool> {
        let at_bp = |offset| fresh.bp.wrapping_add_signed(offset);
        let is_saved = match rule.kind()? {
            // Along the chain of frame pointers, which has to rise, whoever uses its values.
            Kind::NoInformation => self.others.push(older.sp.wrapping_sub(16), older.bp),
            Kind::Deref => {
                let cfa = SavedWord { address: at_bp(rule.cfa_offset()), value: older.sp };
                let bp = SavedWord { address: at_bp(rule.bp_offset()), value: older.bp };
                let [first, second] = if cfa.address > bp.address { [cfa, bp] } else { [bp, cfa] };
                self.others.push(first.address, first.value) && self.others.push(second.address, second.value)
            }
            _ => return None,
        };
        (is_saved && self.push_return(older)).then_some(true)
    }

    /// Adds what ends a stack: that the outermost frame is marked so, or returns to 0.
    #[cold]
    #[inline(never)]
    fn push_outermost(&mut self, fresh: &Fresh, rule: Rule) -> Option<bool> {
        let above = |base: u64| Some(base.wrapping_add_signed(rule.cfa_offset()).wrapping_sub(8));
        let (is_bp_live, returns_at) = match rule.kind()? {
            Kind::End => (false, None),
            Kind::Sp | Kind::SpSavesBp => (false, above(fresh.sp)),
            Kind::Bp | Kind::BpSavesBp => (true, above(fresh.bp)),
            Kind::NoInformation if fresh.bp == 0 => (true, None),
            Kind::NoInformation => (true, Some(fresh.bp.wrapping_add(8))),
            Kind::Deref | Kind::Signal | Kind::Slow => return None,
        };
        self.first = usize::from(returns_at.is_none());
        let returns = returns_at.map_or(NOWHERE, |address| SavedWord { address, value: 0 });
        self.returns.push(returns.address, returns.value).then_some(is_bp_live)
    }
}
