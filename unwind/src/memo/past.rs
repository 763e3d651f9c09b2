//! The last stack of one region, frame by frame.

use super::places::Places;
use super::saved::{SavedWord, SavedWords, Top, WordStack};
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
    /// What the caller of the walk keeps for the stack that ends here, once that is known.
    pub(super) label: u64,
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

    /// Whether it still leads to the callers that it had, if so many words, from the oldest on, are unchanged.
    #[inline(always)]
    pub(super) fn leads(&self, unchanged: u32) -> bool {
        self.words <= unchanged
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
#[derive(Clone, Copy, Debug)]
struct Older {
    code: u64,
    sp: u64,
    bp: u64,
    is_bp_live: bool,
}

/// Frames of a stack that a walk may meet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidates<'a> {
    frames: &'a [Past],
    places: &'a Places,
}

impl Candidates<'_> {
    /// How many frames end with the one that has these registers, if one has. A frame that a newer one has pushed out of its
    /// place is not found.
    #[inline(always)]
    pub(super) fn find(self, code: u64, sp: u64, bp: u64) -> Option<usize> {
        let frame = self.places.frame(sp);
        let past = self.frames.get(frame)?;
        (past.sp == sp && past.code == code && (!past.is_bp_live || past.bp == bp))
            .then(|| frame.wrapping_add(1))
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
    places: &'a mut Places,
}

impl<'a> Stack<'a> {
    pub(super) fn new(frames: &'a mut [Past], words: WordStack<'a>, places: &'a mut Places) -> Self {
        Self { frames, len: 0, words, places }
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

    /// Whether the oldest `count` frames, of which there is one, lead to the same callers as before: every word by which they did
    /// holds what it held. `unchanged` is how many do, if somebody has asked.
    #[inline(always)]
    pub(super) fn is_unchanged(
        &self,
        count: usize,
        unchanged: Option<u32>,
        memory: &mut impl Memory,
    ) -> bool {
        let Some(newest) = self.frames.get(count.wrapping_sub(1)) else { return false };
        if let Some(unchanged) = unchanged {
            return newest.leads(unchanged);
        }
        self.words.first(newest.words as usize).is_some_and(|words| memory.holds(words))
    }

    /// How many of the words that lead through the stack hold what they held, from the oldest on.
    #[inline(always)]
    pub(super) fn unchanged(&self, memory: &mut impl Memory) -> u32 {
        self.words.all().map_or(0, |words| memory.unchanged(words) as u32)
    }

    /// How many frames lead to the same callers as before, if so many words are unchanged.
    #[cold]
    #[inline(never)]
    pub(super) fn reach(&self, unchanged: u32) -> usize {
        let frames = self.frames.get(..self.len).unwrap_or(&[]);
        frames.partition_point(|frame| frame.leads(unchanged))
    }

    /// The label of the whole stack, if these are the registers of its newest frame and nothing has changed.
    #[inline(always)]
    pub(super) fn label_if_same(&self, start: Registers, memory: &mut impl Memory) -> Option<u64> {
        let newest = self.frames.get(self.len.checked_sub(1)?)?;
        (newest.is_at(start) && memory.holds(self.words.all()?)).then_some(newest.label)
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
        count <= self.len
            && past.code == frame.code
            && past.sp == frame.sp
            && past.label == frame.label
            && past.words == frame.words
            && past.is_bp_live == frame.is_bp_live
            && (past.bp == frame.bp || !past.is_bp_live)
    }

    /// The frames after the first `known`, of which `root` is the last, and their words.
    pub(super) fn newer_than(&self, known: usize, root: Past) -> (&[Past], SavedWords<'_>) {
        let frames = self.frames.get(known..self.len).unwrap_or(&[]);
        (frames, self.words.after(root.words as usize))
    }

    /// Adds frames, the oldest first, that have been here before, and the words that led through them.
    pub(super) fn append(&mut self, frames: &[Past], words: SavedWords<'_>) {
        let mut words = words.as_slice().iter();
        for frame in frames {
            let mut top = Some(self.words.top());
            let count = (frame.words as usize).saturating_sub(self.words.top().len());
            for word in words.by_ref().take(count) {
                top = top.and_then(|top| self.words.add(top, word.address, word.value));
            }
            let (Some(top), Some(place)) = (top, self.frames.get_mut(self.len)) else { return };
            *place = *frame;
            self.places.put(frame.sp, self.len);
            self.words.set_top(top);
            self.len = self.len.wrapping_add(1);
        }
    }

    /// The oldest `count` frames, to be found by their registers.
    #[inline(always)]
    pub(super) fn candidates(&self, count: usize) -> Candidates<'_> {
        // There are so many. Said so, or each look would ask whether there are.
        let count = count.min(self.frames.len());
        Candidates { frames: self.frames.get(..count).unwrap_or(&[]), places: self.places }
    }

    /// Forgets all frames but the oldest `len`.
    #[inline(always)]
    pub(super) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        let newest = self.len.checked_sub(1).and_then(|newest| self.frames.get(newest));
        self.words.truncate(newest.map_or(0, |newest| newest.words as usize));
    }

    /// Forgets all frames but the oldest `known`, of which there is one, and adds those that they have called, the newest first
    /// in `fresh`, as far as they can be remembered. Gives the label of all, if there is one.
    // A function of its own, which has all registers for itself.
    #[inline(never)]
    pub(super) fn extend(
        &mut self,
        known: usize,
        fresh: &mut [Fresh],
        labels: &mut impl Labels,
    ) -> Option<u64> {
        let label = name(self.label(known)?, fresh, labels)?;
        self.add(known, fresh.iter().rev());
        Some(label)
    }

    /// The same of the stack that has no frame, whose label is this.
    #[inline(never)]
    pub(super) fn begin(&mut self, label: u64, fresh: &mut [Fresh], labels: &mut impl Labels) -> Option<u64> {
        self.clear();
        let label = name(label, fresh, labels)?;
        let mut fresh = fresh.iter().rev();
        if fresh.next().is_some_and(|outermost| self.set_outermost(outermost)) {
            self.add(1, fresh);
        }
        Some(label)
    }

    /// Adds frames to the oldest `known`.
    #[inline(always)]
    fn add<'f>(&mut self, known: usize, fresh: impl Iterator<Item = &'f Fresh>) {
        let Some(newest) = self.frames.get(known.wrapping_sub(1)) else { return };
        // Loose words, which stay in registers.
        let Past { mut code, mut sp, mut bp, mut is_bp_live, words, .. } = *newest;
        let (mut len, mut top) = (known, self.words.top_at(words as usize));
        for fresh in fresh {
            let older = Older { code, sp, bp, is_bp_live };
            let Some(words) = self.add_words(top, fresh, older) else { break };
            is_bp_live = is_live_in(fresh.rule, is_bp_live);
            if !self.set_frame(len, fresh, words.len(), is_bp_live) {
                break;
            }
            (len, top) = (len.wrapping_add(1), words);
            (code, sp, bp) = (fresh.code, fresh.sp, fresh.bp);
        }
        self.len = len;
        self.words.set_top(top);
    }

    /// Writes frame number `number`, which counts once the length says so; false where there is no room.
    // Field by field, in registers: a frame that was just written cannot be read back quickly as a whole.
    #[inline(always)]
    fn set_frame(&mut self, number: usize, fresh: &Fresh, words: usize, is_bp_live: bool) -> bool {
        let Some(place) = self.frames.get_mut(number) else { return false };
        (place.code, place.sp, place.bp) = (fresh.code, fresh.sp, fresh.bp);
        (place.label, place.words, place.is_bp_live) = (fresh.label, words as u32, is_bp_live);
        self.places.put(fresh.sp, number);
        true
    }

    /// Adds the words by which `fresh` led to `older`. `None` if it can't be remembered: then no newer frame can.
    #[inline(always)]
    fn add_words(&mut self, top: Top, fresh: &Fresh, older: Older) -> Option<Top> {
        // An interrupted frame was found by a signal frame, which may lie on another stack.
        if older.code >> 63 != 0 {
            return None;
        }
        // The return address lies just below the caller's frame.
        let top = self.words.add(top, older.sp.wrapping_sub(8), older.code)?;
        match fresh.rule.ordinary() {
            None => self.add_unusual_words(top, fresh, older.sp, older.bp),
            Some(Ordinary { saves_bp, .. }) if saves_bp & older.is_bp_live => {
                self.words.add(top, older.sp.wrapping_add_signed(fresh.rule.bp_offset()), older.bp)
            }
            Some(_) => Some(top),
        }
    }

    /// The further words of the kinds that are rare, which lead to a caller with these registers.
    #[cold]
    #[inline(never)]
    fn add_unusual_words(&mut self, top: Top, fresh: &Fresh, sp: u64, bp: u64) -> Option<Top> {
        let at_bp = |offset| fresh.bp.wrapping_add_signed(offset);
        match fresh.rule.kind()? {
            _ if fresh.sp >= sp => None,
            // Along the chain of frame pointers, which has to rise, whoever uses its values.
            Kind::NoInformation => self.words.add(top, sp.wrapping_sub(16), bp),
            Kind::Deref => {
                let cfa = SavedWord { address: at_bp(fresh.rule.cfa_offset()), value: sp };
                let bp = SavedWord { address: at_bp(fresh.rule.bp_offset()), value: bp };
                let [first, second] = if cfa.address > bp.address { [cfa, bp] } else { [bp, cfa] };
                let top = self.words.add(top, first.address, first.value)?;
                self.words.add(top, second.address, second.value)
            }
            _ => None,
        }
    }

    /// Adds the outermost frame, with what ends a stack: that it is marked so, or returns to 0. False if it can't be remembered.
    #[cold]
    #[inline(never)]
    fn set_outermost(&mut self, fresh: &Fresh) -> bool {
        let above = |base: u64| Some(base.wrapping_add_signed(fresh.rule.cfa_offset()).wrapping_sub(8));
        let (is_bp_live, returns_at) = match fresh.rule.kind() {
            Some(Kind::End) => (false, None),
            Some(Kind::Sp | Kind::SpSavesBp) => (false, above(fresh.sp)),
            Some(Kind::Bp | Kind::BpSavesBp) => (true, above(fresh.bp)),
            Some(Kind::NoInformation) if fresh.bp == 0 => (true, None),
            Some(Kind::NoInformation) => (true, Some(fresh.bp.wrapping_add(8))),
            Some(Kind::Deref | Kind::Signal | Kind::Slow) | None => return false,
        };
        let top = match returns_at {
            Some(address) => self.words.add(self.words.top(), address, 0),
            None => Some(self.words.top()),
        };
        let Some(top) = top.filter(|top| self.set_frame(0, fresh, top.len(), is_bp_live)) else {
            return false;
        };
        self.len = 1;
        self.words.set_top(top);
        true
    }
}

/// The label of a stack with further frames, the newest first, each of which gets its own.
#[inline(always)]
fn name(label: u64, fresh: &mut [Fresh], labels: &mut impl Labels) -> Option<u64> {
    let mut label = Label::from_bits(label);
    for fresh in fresh.iter_mut().rev() {
        label = labels.longer(label, fresh.number)?;
        fresh.label = label.to_bits();
    }
    Some(label.to_bits())
}

/// Whether the rbp of a frame which is left by `rule` matters, of whose caller it does or does not.
#[inline(always)]
fn is_live_in(rule: Rule, is_live: bool) -> bool {
    // All of the rare kinds that can be remembered go by rbp.
    rule.ordinary().is_none_or(|Ordinary { uses_bp, saves_bp }| uses_bp | (!saves_bp & is_live))
}
