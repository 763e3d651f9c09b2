//! The last stack of one region, frame by frame.

use super::identity::Identity;
use super::places::Places;
use super::returns::Returns;
use super::saved::{SavedWord, SavedWords};
use super::{Label, Labels};
use crate::rule::Ordinary;
use crate::{Kind, Memory, Registers, Rule, arch};
use core::num::NonZeroU32;

/// A frame that a walk has met, before its callers are known.
///
/// It is read soon after it was written. Fields that are then loaded together do not lie side by side: one load of two recent stores
/// would wait until both have left the store buffer.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Fresh {
    /// Compact form of its address.
    pub(super) code: u64,
    /// How it is left.
    pub(super) rule: Rule,
    pub(super) sp: u64,
    /// See [`Labels::number`](super::Labels::number).
    pub(super) number: u32,
    pub(super) bp: u64,
    /// The word that leads to its caller.
    pub(super) returns: Returns,
}

/// What is known of a frame of the last stack beside its address and its stack pointer.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Past {
    /// What the caller of the walk keeps for the stack that ends here.
    label: u64,
    bp: u64,
    /// How many frames end with it.
    frames: u32,
    bp_is: Bp,
    /// Its address and its stack pointer, where the word does not say them.
    identity: Identity,
}

/// What the value of rbp in a frame is good for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
enum Bp {
    /// There is no frame here: the word beside this is no return address.
    #[default]
    NoFrame,
    /// Nothing.
    Dead,
    /// An older frame is left by it.
    Live,
}

impl Bp {
    #[inline(always)]
    fn of(is_live: bool) -> Self {
        if is_live { Self::Live } else { Self::Dead }
    }
}

impl Past {
    /// Beside a word that is no return address.
    const NONE: Self = Self { label: 0, bp: 0, frames: 0, bp_is: Bp::NoFrame, identity: Identity::NONE };

    /// Whether it is a frame with these registers, as far as they matter and the word beside it does not tell.
    #[inline(always)]
    fn has(&self, code: u64, sp: u64, bp: u64) -> bool {
        let is_bp = match self.bp_is {
            Bp::NoFrame => false,
            Bp::Dead => true,
            Bp::Live => self.bp == bp,
        };
        is_bp && self.identity.may_be_of(code, sp)
    }

    /// The frame's stack pointer; `word` is beside it.
    #[inline(always)]
    fn sp(&self, word: &SavedWord) -> u64 {
        self.identity.parts().map_or(word.address.wrapping_add(8), |(_, sp)| sp)
    }
}

/// A word, and beside it the frame that is known by it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Seen {
    /// The word by which its callee returns to it. Where calls push, that is its address, just below its stack pointer.
    word: SavedWord,
    past: Past,
}

impl AsRef<SavedWord> for Seen {
    #[inline(always)]
    fn as_ref(&self) -> &SavedWord {
        &self.word
    }
}

impl Seen {
    /// What the caller of the walk keeps for the stack that ends here.
    #[inline(always)]
    pub(super) fn label(&self) -> u64 {
        self.past.label
    }

    /// The word, and what is beside it.
    pub(super) fn parts(self) -> (SavedWord, Past) {
        (self.word, self.past)
    }

    /// Whether these are its registers, as far as they matter.
    #[inline(always)]
    pub(super) fn is_at(&self, code: u64, sp: u64, bp: u64) -> bool {
        self.word.may_be_of(code, sp) && self.past.has(code, sp, bp)
    }
}

impl SavedWord {
    /// Whether this is where a frame with this address and this stack pointer is returned to. Anything may be where calls do not push.
    #[inline(always)]
    fn may_be_of(&self, code: u64, sp: u64) -> bool {
        !arch::PUSHES_RETURN_ADDRESS || (self.address == sp.wrapping_sub(8) && self.value == code)
    }
}

/// Frames of a stack that a walk may meet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidates<'a> {
    words: &'a [Seen],
    places: &'a Places,
}

/// The frame at which a walk has met the last stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meeting {
    /// Where it ends.
    pub(super) known: usize,
    /// How many frames end with it.
    pub(super) frames: usize,
}

impl Candidates<'_> {
    /// The frame with these registers, if there is one that no newer frame has pushed out of its place.
    #[inline(always)]
    pub(super) fn find(self, code: u64, sp: u64, bp: u64) -> Option<Meeting> {
        let place = self.places.get(sp);
        let seen = self.words.get(place)?;
        seen.is_at(code, sp, bp)
            .then(|| Meeting { known: place.wrapping_add(1), frames: seen.past.frames as usize })
    }
}

/// The last stack that was walked in one region of addresses, oldest frame first.
///
/// ```text
///  stack                          words                                 pasts
///  ┌────────────────────────┐     ┌───────────────────────────────────┬────────┐
///  │ frame of _start        │     │                                   │        │
///  │ return address: _start │ ──► │ 0 where main returns: in _start   │ _start │
///  │ frame of main          │     │                                   │        │
///  │ return address: main   │ ──► │ 1 where parse returns: in main    │ main   │
///  │ frame of parse: rbp    │ ──► │ 2 main's rbp, if that is live     │ none   │
///  │ return address: parse  │ ──► │ 3 where malloc returns: in parse  │ parse  │
///  └────────────────────────┘     └───────────────────────────────────┴────────┘
/// ```
///
/// A frame that has called another one has pushed its return address just below its stack pointer. So it is known by the very word that
/// is compared, and *ends* behind that: parse at 4. From a frame with the same address, the same sp and, where it matters, the same
/// rbp, a walk leads to the same older frames as last time if all words before its own hold what they held then. Nothing here is
/// ever trusted: an old stack is a guess that is checked whole.
///
/// On 64-bit ARM, where calls push nothing, a frame is known by its [`Identity`], and its word lies where its callee has saved x30:
///
/// ```text
///  │ frame of main          │     ┌───────────────────────────────────┬────────┐
///  │ frame of parse: x30    │ ──► │ 1 where parse returns: in main    │ main   │
///  │                 x29    │ ──► │ 2 main's x29, if that is live     │ none   │
///  │ frame of read: x30     │ ──► │ 3 where read returns: in parse    │ parse  │
/// ```
///
/// The words are the same then, in the same falling order, but a frame's own word is there only while it has a callee: that of the
/// newest means nothing, and a frame that is met gets the word of its next callee. Nobody compares it before, since it is the words
/// before its own that lead on from a frame.
#[derive(Debug)]
pub(super) struct Stack<'a> {
    words: &'a mut [Seen],
    len: usize,
    /// A copy of the frame that ends at `len`, or none: whoever asks whether that is the newest frame need not look into the lists.
    newest: Seen,
    /// Stack pointer of the oldest frame.
    base: u64,
    places: &'a mut Places,
}

impl<'a> Stack<'a> {
    /// Has room for as many words as there are.
    pub(super) fn new(words: &'a mut [Seen], places: &'a mut Places) -> Self {
        Self { words, len: 0, newest: Seen::default(), base: 0, places }
    }

    pub(super) fn clear(&mut self) {
        (self.len, self.newest) = (0, Seen::default());
    }

    /// Stack pointer of the oldest frame, 0 when there is none.
    pub(super) fn base(&self) -> u64 {
        if self.len == 0 { 0 } else { self.base }
    }

    /// Number of words.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The frame that ends at `len`.
    #[inline(always)]
    fn past(&self, len: usize) -> Option<&Past> {
        Some(&self.words.get(len.wrapping_sub(1))?.past)
    }

    /// The label of the stack up to the frame that ends at `len`.
    #[inline(always)]
    pub(super) fn label(&self, len: usize) -> Option<u64> {
        Some(self.past(len)?.label)
    }

    /// How many frames there are up to the one that ends at `len`.
    #[inline(always)]
    pub(super) fn frames(&self, len: usize) -> usize {
        self.past(len).map_or(0, |past| past.frames as usize)
    }

    /// Whether the frame that ends at `len`, on which a chain hangs that was just found, leads to the same callers as before. `reach` is
    /// what [`Stack::reach`] has said, if it was asked; otherwise all words that lead on from the frame are compared.
    #[inline(always)]
    pub(super) fn leads(&self, len: usize, reach: Option<NonZeroU32>, memory: &mut impl Memory) -> bool {
        match reach {
            Some(reach) => len <= reach.get() as usize,
            None => self.before(len).is_some_and(|words| memory.holds(words)),
        }
    }

    /// The same for a frame that a walk has met, which is a different one nearly each time.
    #[inline(always)]
    pub(super) fn leads_when_met(
        &self,
        len: usize,
        reach: Option<NonZeroU32>,
        memory: &mut impl Memory,
    ) -> bool {
        match reach {
            Some(reach) => len <= reach.get() as usize,
            None => self.before(len).is_some_and(|words| memory.holds_any_number(words)),
        }
    }

    /// The words that lead on from the frame which ends at `len`: those before its own.
    #[inline(always)]
    fn before(&self, len: usize) -> Option<SavedWords<'_, Seen>> {
        Some(SavedWords::of_stack(self.words.get(..len.wrapping_sub(1))?))
    }

    /// The length up to which all frames lead to the same callers as before; 1, at which no frame need end, where there is none.
    #[cold]
    #[inline(never)]
    pub(super) fn reach(&self, memory: &mut impl Memory) -> NonZeroU32 {
        // The newest frame's own word leads nowhere.
        let words = self.words.get(..self.len.wrapping_sub(1)).unwrap_or(&[]);
        let unchanged = memory.unchanged(SavedWords::of_stack(words));
        NonZeroU32::MIN.saturating_add(unchanged as u32)
    }

    /// The label of the newest frame up to `len`.
    #[cold]
    pub(super) fn label_up_to(&self, len: usize) -> u64 {
        let words = self.words.get(..len.min(self.len)).unwrap_or(&[]);
        words.iter().rev().find(|seen| seen.past.bp_is != Bp::NoFrame).map_or(0, |seen| seen.past.label)
    }

    /// The label of the whole stack, if these are the registers of its newest frame and nothing has changed.
    #[inline(always)]
    pub(super) fn label_if_same(&self, start: Registers, memory: &mut impl Memory) -> Option<u64> {
        let is_newest = self.newest.is_at(start.ip.to_bits(), start.sp, start.bp);
        let is_same = is_newest && self.before(self.len).is_some_and(|words| memory.holds(words));
        is_same.then_some(self.newest.label())
    }

    /// All of the frame that ends at `len`.
    pub(super) fn seen(&self, len: usize) -> Option<Seen> {
        self.words.get(len.checked_sub(1)?).copied()
    }

    /// Whether this frame ends at `len`.
    #[inline(always)]
    pub(super) fn has(&self, len: usize, seen: &Seen) -> bool {
        let Some(Seen { word, past }) = self.words.get(len.wrapping_sub(1)) else { return false };
        let Past { label, bp, frames, bp_is, identity } = seen.past;
        // Another callee returns to the same frame by another word where calls do not push.
        len <= self.len
            && (!arch::PUSHES_RETURN_ADDRESS || *word == seen.word)
            && past.identity == identity
            && past.label == label
            && past.frames == frames
            && past.bp_is == bp_is
            && (past.bp == bp || bp_is == Bp::Dead)
    }

    /// The words from that of the frame on which ends at `known`.
    pub(super) fn from(&self, known: usize) -> Option<&[Seen]> {
        self.words.get(known.checked_sub(1)?..self.len)
    }

    /// Adds words and frames that were there before to those up to `known`. The newest of those is returned to by the word `root`.
    pub(super) fn put_back(&mut self, known: usize, root: SavedWord, words: &[SavedWord], pasts: &[Past]) {
        self.len = known;
        if !arch::PUSHES_RETURN_ADDRESS
            && let Some(seen) = self.words.get_mut(known.wrapping_sub(1))
        {
            seen.word = root;
        }
        for (word, past) in words.iter().zip(pasts) {
            if self.set(self.len, *word, *past).is_none() {
                break;
            }
            self.len = self.len.wrapping_add(1);
        }
        self.newest = self.seen(self.len).unwrap_or_default();
    }

    /// The frames that end up to `len`, to be found by their registers.
    #[inline(always)]
    pub(super) fn candidates(&self, len: usize) -> Candidates<'_> {
        // There are as many; cut to that, so that no look checks it again.
        let words = self.words.get(..len.min(self.words.len())).unwrap_or(&[]);
        Candidates { words, places: self.places }
    }

    /// Writes a word and what is beside it. They count once the length says so.
    fn set(&mut self, place: usize, word: SavedWord, past: Past) -> Option<()> {
        *self.words.get_mut(place)? = Seen { word, past };
        if past.bp_is != Bp::NoFrame {
            self.places.put(past.sp(&word), place);
        }
        Some(())
    }

    /// Forgets all but the frames up to `known`, where one ends, and adds those that they have called, the newest first
    /// in `fresh`, as far as they can be remembered. Gives the label of all, if there is one.
    // One loop labels and remembers, inlined into the walk, so that all it needs stays in registers.
    #[inline(always)]
    pub(super) fn extend(&mut self, known: usize, fresh: &[Fresh], labels: &mut impl Labels) -> Option<u64> {
        let Past { label, mut frames, bp_is, .. } = *self.past(known)?;
        let mut is_bp_live = bp_is == Bp::Live;
        // Local variables, which stay in registers.
        let mut label = Label::from_bits(label);
        let words = &mut *self.words;
        let mut len = known;
        self.len = known;
        // However the loop ends, the old newest frame is gone.
        self.newest.past.bp_is = Bp::NoFrame;
        labels.announce(label, fresh.iter().rev().map(|fresh| fresh.number));
        let mut fresh = fresh.iter().rev();
        for next in fresh.by_ref() {
            label = labels.longer(label, next.number)?;
            if !arch::PUSHES_RETURN_ADDRESS && save_returns(words, len, next).is_none() {
                break;
            }
            match next.rule.ordinary() {
                Some(Ordinary { uses_bp, saves_bp }) => {
                    if saves_bp && is_bp_live {
                        let Some(saved) = save_bp(words, len, next) else { break };
                        len = saved;
                    }
                    is_bp_live = uses_bp | (!saves_bp & is_bp_live);
                }
                None => {
                    let Some(saved) = save_unusual(words, len, next) else { break };
                    // All of these kinds that can be remembered go by rbp.
                    (len, is_bp_live) = (saved, true);
                }
            }
            let Some(Seen { word, past }) = words.get_mut(len) else { break };
            frames = frames.wrapping_add(1);
            // Field by field, from registers: reading back as a whole what was just written in parts is slow.
            (word.address, word.value) = (next.sp.wrapping_sub(8), next.code);
            (past.label, past.bp) = (label.to_bits(), next.bp);
            (past.frames, past.bp_is) = (frames, Bp::of(is_bp_live));
            past.identity = Identity::of(next.code, next.sp);
            let Seen { word, past } = &mut self.newest;
            (word.address, word.value) = (next.sp.wrapping_sub(8), next.code);
            (past.label, past.bp) = (label.to_bits(), next.bp);
            (past.frames, past.bp_is) = (frames, Bp::of(is_bp_live));
            past.identity = Identity::of(next.code, next.sp);
            self.places.put(next.sp, len);
            len = len.wrapping_add(1);
            self.len = len;
        }
        Some(labels.extended(label, fresh.map(|fresh| fresh.number))?.to_bits())
    }

    /// The same for the stack without frames, which has this label.
    #[inline(never)]
    pub(super) fn begin(&mut self, label: u64, fresh: &[Fresh], labels: &mut impl Labels) -> Option<u64> {
        self.clear();
        let label = Label::from_bits(label);
        let Some((outermost, newer)) = fresh.split_last() else { return Some(label.to_bits()) };
        let label = labels.longer(label, outermost.number)?;
        if self.set_outermost(outermost, label.to_bits()).is_some() {
            self.extend(self.len, newer, labels)
        } else {
            self.clear();
            Some(labels.extended(label, newer.iter().rev().map(|fresh| fresh.number))?.to_bits())
        }
    }

    /// Adds the outermost frame with what ends the stack there: a mark, or a return address of 0. `None` if it cannot be remembered.
    #[cold]
    #[inline(never)]
    fn set_outermost(&mut self, fresh: &Fresh, label: u64) -> Option<()> {
        let Fresh { code, rule, sp, bp, returns, .. } = *fresh;
        let above = |base: u64, saves_bp: bool| {
            let returns_at = arch::returns_at(rule.bp_offset(), saves_bp);
            Some(base.wrapping_add_signed(rule.cfa_offset()).wrapping_add_signed(returns_at))
        };
        let (is_bp_live, returns_at) = match rule.kind()? {
            Kind::End => (false, None),
            kind @ (Kind::Sp | Kind::SpSavesBp) => (false, above(sp, kind == Kind::SpSavesBp)),
            kind @ (Kind::Bp | Kind::BpSavesBp) => (true, above(bp, kind == Kind::BpSavesBp)),
            Kind::NoInformation if bp == 0 => (true, None),
            Kind::NoInformation => (true, Some(bp.wrapping_add(8))),
            Kind::Deref | Kind::Signal | Kind::Slow => return None,
        };
        if let Some(address) = returns_at {
            if address < sp || !address.is_multiple_of(8) {
                return None;
            }
            self.set(self.len, SavedWord { address, value: returns.word_to(0)? }, Past::NONE)?;
            self.len = self.len.wrapping_add(1);
        }
        let word = SavedWord { address: sp.wrapping_sub(8), value: code };
        let identity = Identity::of(code, sp);
        self.set(self.len, word, Past { label, bp, frames: 1, bp_is: Bp::of(is_bp_live), identity })?;
        self.len = self.len.wrapping_add(1);
        self.base = sp;
        Some(())
    }
}

/// Saves a word behind the frame that ends at `len`, by which its callee `fresh` leads there. Gives the new length; `None` if there is no
/// room, or the word lies in neither frame and so outside of the falling order.
#[inline(always)]
fn save(words: &mut [Seen], len: usize, fresh: &Fresh, saved: SavedWord) -> Option<usize> {
    let last = words.get(len.wrapping_sub(1))?.word.address;
    if saved.address >= last || saved.address < fresh.sp {
        return None;
    }
    *words.get_mut(len)? = Seen { word: saved, past: Past::NONE };
    Some(len.wrapping_add(1))
}

/// Gives the frame that ends at `len` the word by which `fresh` returns to it, where calls do not push. `None` if that is not in `fresh`'s
/// own frame, where an ordinary rule has it.
#[inline(always)]
fn save_returns(words: &mut [Seen], len: usize, fresh: &Fresh) -> Option<()> {
    let Seen { word, past } = words.get_mut(len.wrapping_sub(1))?;
    let (code, sp) = past.identity.parts()?;
    let returns_at = arch::returns_at(fresh.rule.bp_offset(), fresh.rule.ordinary()?.saves_bp);
    let address = sp.wrapping_add_signed(returns_at);
    // All that leads on from the caller lies above its stack pointer, so this one falls.
    if address >= sp || address < fresh.sp {
        return None;
    }
    *word = SavedWord { address, value: fresh.returns.word_to(code)? };
    Some(())
}

/// As [`save`], for that frame's rbp, which `fresh` has saved.
#[inline(always)]
fn save_bp(words: &mut [Seen], len: usize, fresh: &Fresh) -> Option<usize> {
    let Seen { word, past } = words.get(len.wrapping_sub(1))?;
    let (sp, value) = (past.sp(word), past.bp);
    let address = sp.wrapping_add_signed(fresh.rule.bp_offset());
    save(words, len, fresh, SavedWord { address, value })
}

/// The same for a frame `fresh` of one of the rare kinds. `None` also if it cannot be remembered, and then no newer frame can.
#[cold]
#[inline(never)]
fn save_unusual(words: &mut [Seen], len: usize, fresh: &Fresh) -> Option<usize> {
    let Seen { word, past } = words.get(len.wrapping_sub(1))?;
    let (sp, value) = (past.sp(word), past.bp);
    let at_bp = |offset| fresh.bp.wrapping_add_signed(offset);
    match fresh.rule.kind()? {
        // Along the chain of frame pointers, which has to rise, whoever uses its values.
        Kind::NoInformation => save(words, len, fresh, SavedWord { address: sp.wrapping_sub(16), value }),
        Kind::Deref => {
            let cfa = SavedWord { address: at_bp(fresh.rule.cfa_offset()), value: sp };
            let bp = SavedWord { address: at_bp(fresh.rule.bp_offset()), value };
            let [first, second] = if cfa.address > bp.address { [cfa, bp] } else { [bp, cfa] };
            let len = save(words, len, fresh, first)?;
            save(words, len, fresh, second)
        }
        // An interrupted frame, which was found by a signal frame, may lie on another stack.
        _ => None,
    }
}
