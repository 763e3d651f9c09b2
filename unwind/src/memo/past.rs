//! The last stack of one region, frame by frame.

use super::saved::{SavedWord, WordStack};
use super::{Label, Labels};
use crate::rule::Ordinary;
use crate::{Kind, Memory, Registers, Rule};

/// A frame that a walk has met, before it is known what its caller's caller … is.
///
/// Soon after it was written it is read for a [`Past`]. What lies side by side there does not here: two words would be read as one, and
/// the processor would wait until both have left its store buffer.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Fresh {
    /// Compact form of its address.
    pub(super) code: u64,
    /// See [`Labels::number`](super::Labels::number).
    pub(super) number: u32,
    pub(super) sp: u64,
    /// How it is left.
    pub(super) rule: Rule,
    pub(super) bp: u64,
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
    /// How many of the words belong to this frame and older ones.
    words: u32,
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
///  stack                        frames             words
///  ┌───────────────┐ high       oldest: _start     (its caller: none)
///  │ … _start      │            main               where main returns: _start
///  │ … main        │            parse              where parse returns: main; rbp that parse saved, if it is live
///  │ … parse       │            …                  …
///  └───────────────┘ low ◄─ sp  newest
/// ```
///
/// From a frame with the same address, the same sp and, where it matters, the same rbp, a walk leads to the same older
/// frames as last time if all `words` that it reads on the way hold what they held then. Nothing here is ever trusted: an old
/// stack is a guess that is checked whole.
#[derive(Debug)]
pub(super) struct Stack<'a> {
    frames: &'a mut [Past],
    len: usize,
    words: WordStack<'a>,
}

impl<'a> Stack<'a> {
    pub(super) fn new(frames: &'a mut [Past], words: WordStack<'a>) -> Self {
        Self { frames, len: 0, words }
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
        let words = self.words.after(0);
        match memory.unchanged(words, sp) {
            count if count == words.as_slice().len() => self.len,
            changed => self.words.frame(changed),
        }
    }

    /// The label of the whole stack, if these are the registers of its newest frame and nothing has changed.
    #[inline(always)]
    pub(super) fn label_if_same(&self, start: Registers, memory: &mut impl Memory) -> Option<u64> {
        let newest = self.frames.get(self.len.checked_sub(1)?)?;
        (newest.is_at(start) && memory.holds(self.words.after(0))).then_some(newest.label)
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
            && past.words == frame.words
            && past.is_bp_live == frame.is_bp_live
            && (past.bp == frame.bp || !past.is_bp_live)
    }

    /// The frames after the first `known`, of which `root` is the last, and their words.
    pub(super) fn newer_than(&self, known: usize, root: Past) -> (&[Past], &[SavedWord]) {
        let frames = self.frames.get(known..self.len).unwrap_or(&[]);
        (frames, self.words.after(root.words as usize).as_slice())
    }

    /// Adds frames, the oldest first, that have been here before, and the words that led through them.
    pub(super) fn append(&mut self, frames: &[Past], words: &[SavedWord]) {
        let mut words = words.iter();
        for frame in frames {
            let count = (frame.words as usize).saturating_sub(self.words.len());
            let is_whole = words
                .by_ref()
                .take(count)
                .all(|word| self.words.push(self.len as u32, word.address, word.value));
            let place = self.frames.get_mut(self.len).filter(|_| is_whole);
            let Some(place) = place else { return self.truncate(self.len) };
            *place = *frame;
            self.len = self.len.wrapping_add(1);
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
        let newest = self.len.checked_sub(1).and_then(|newest| self.frames.get(newest));
        self.words.truncate(newest.map_or(0, |newest| newest.words as usize));
    }

    /// Forgets all frames but the oldest `known`, whose label is `label`, and adds those that they have called, oldest first,
    /// as far as they can be remembered. Gives the label of all, if there is one.
    #[inline(always)]
    pub(super) fn extend<'f>(
        &mut self,
        known: usize,
        label: u64,
        mut fresh: impl Iterator<Item = &'f Fresh>,
        labels: &mut impl Labels,
    ) -> Option<u64> {
        let mut label = Label::from_bits(label);
        self.truncate(known);
        let mut older = match known.checked_sub(1).and_then(|last| self.frames.get(last)) {
            Some(newest) => Some(Older::of(newest)),
            None => {
                let Some(outermost) = fresh.next() else { return Some(label.to_bits()) };
                label = labels.longer(label, outermost.number)?;
                self.push_outermost(outermost, label.to_bits())
            }
        };
        while let Some(caller) = older
            && let Some(fresh) = fresh.next()
        {
            label = labels.longer(label, fresh.number)?;
            older = self.push(fresh, label.to_bits(), caller);
        }
        if older.is_none() {
            // Some words of the frame that could not be remembered.
            self.truncate(self.len);
        }
        fresh.try_fold(label, |label, fresh| labels.longer(label, fresh.number)).map(Label::to_bits)
    }

    /// Adds the frame that `older`, the newest one, has called, and gives it. `None` if it can't be remembered: then no newer one
    /// can.
    #[inline(always)]
    fn push(&mut self, fresh: &Fresh, label: u64, older: Older) -> Option<Older> {
        let is_bp_live = self.push_words(fresh, older)?;
        self.push_frame(fresh, label, is_bp_live)
    }

    /// Adds a frame, all of whose words were added.
    // Field by field, in registers: a frame that was just written cannot be read back quickly as a whole.
    #[inline(always)]
    fn push_frame(&mut self, fresh: &Fresh, label: u64, is_bp_live: bool) -> Option<Older> {
        let place = self.frames.get_mut(self.len)?;
        let Fresh { code, sp, bp, .. } = *fresh;
        (place.code, place.sp, place.bp) = (code, sp, bp);
        (place.label, place.words, place.is_bp_live) = (label, self.words.len() as u32, is_bp_live);
        self.len = self.len.wrapping_add(1);
        Some(Older { code, sp, bp, is_bp_live })
    }

    /// Adds the words by which `fresh` led to `older`; whether its rbp mattered, or `None` if not all is known.
    #[inline(always)]
    fn push_words(&mut self, fresh: &Fresh, older: Older) -> Option<bool> {
        // An interrupted frame was found by a signal frame, which may lie on another stack.
        if older.code >> 63 != 0 || fresh.sp >= older.sp {
            return None;
        }
        // The return address lies just below the caller's frame.
        if !self.push_word(older.sp.wrapping_sub(8), older.code) {
            return None;
        }
        let Some(Ordinary { uses_bp, saves_bp }) = fresh.rule.ordinary() else {
            return self.push_unusual(fresh, older.sp, older.bp);
        };
        let is_saved = !(saves_bp & older.is_bp_live)
            || self.push_word(older.sp.wrapping_add_signed(fresh.rule.bp_offset()), older.bp);
        is_saved.then_some(uses_bp | (!saves_bp & older.is_bp_live))
    }

    /// Adds a word that leads from the frame which is added.
    #[inline(always)]
    fn push_word(&mut self, address: u64, value: u64) -> bool {
        self.words.push(self.len as u32, address, value)
    }

    /// The further words of the kinds that are rare, which lead to a caller with these registers.
    #[cold]
    #[inline(never)]
    fn push_unusual(&mut self, fresh: &Fresh, sp: u64, bp: u64) -> Option<bool> {
        let at_bp = |offset| fresh.bp.wrapping_add_signed(offset);
        let is_saved = match fresh.rule.kind()? {
            // Along the chain of frame pointers, which has to rise, whoever uses its values.
            Kind::NoInformation => self.push_word(sp.wrapping_sub(16), bp),
            Kind::Deref => {
                let cfa = SavedWord { address: at_bp(fresh.rule.cfa_offset()), value: sp };
                let bp = SavedWord { address: at_bp(fresh.rule.bp_offset()), value: bp };
                let [first, second] = if cfa.address > bp.address { [cfa, bp] } else { [bp, cfa] };
                self.push_word(first.address, first.value) && self.push_word(second.address, second.value)
            }
            _ => return None,
        };
        is_saved.then_some(true)
    }

    /// Adds the outermost frame with what ends a stack: that it is marked so, or returns to 0.
    #[cold]
    #[inline(never)]
    fn push_outermost(&mut self, fresh: &Fresh, label: u64) -> Option<Older> {
        let above = |base: u64| Some(base.wrapping_add_signed(fresh.rule.cfa_offset()).wrapping_sub(8));
        let (is_bp_live, returns_at) = match fresh.rule.kind()? {
            Kind::End => (false, None),
            Kind::Sp | Kind::SpSavesBp => (false, above(fresh.sp)),
            Kind::Bp | Kind::BpSavesBp => (true, above(fresh.bp)),
            Kind::NoInformation if fresh.bp == 0 => (true, None),
            Kind::NoInformation => (true, Some(fresh.bp.wrapping_add(8))),
            Kind::Deref | Kind::Signal | Kind::Slow => return None,
        };
        if !returns_at.is_none_or(|address| self.push_word(address, 0)) {
            return None;
        }
        self.push_frame(fresh, label, is_bp_live)
    }
}
