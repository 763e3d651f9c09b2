//! Adds what a walk has found to the last stack.

use super::fresh::Fresh;
use super::identity::Identity;
use super::seen::{Bp, Past, Seen};
use super::stack::Stack;
use super::{Label, Labels};
use crate::arch;
use crate::rule::Kind;
use crate::rule::Ordinary;
use crate::saved_words::SavedWord;

impl Stack<'_> {
    /// Forgets all but the frames up to `known`, where one ends, and adds those that they have called, which are in
    /// `fresh`, newest first, as far as they can be remembered. Returns the label of the whole stack, if there is
    /// one.
    // One loop labels and remembers, inlined into the walk, so that everything it needs stays in registers.
    #[inline(always)]
    pub(super) fn extend(&mut self, known: usize, fresh: &[Fresh], labels: &mut impl Labels) -> Option<u64> {
        let Past { label, mut frames, bp_is, .. } = *self.past(known)?;
        let mut is_bp_live = bp_is == Bp::Live;
        // Local variables, so that they stay in registers.
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
                    // All of these kinds that can be remembered use rbp.
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

    /// Adds the outermost frame and what ends the stack there: a mark, or a return address of 0. `None` if it cannot
    /// be remembered.
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
            // The decision depended on words that are not known here.
            Kind::NoInformation if bp == 0 => return None,
            Kind::NoInformation => (true, Some(bp.wrapping_add(8))),
            Kind::Deref | Kind::Signal | Kind::Slow | Kind::Goroutine => return None,
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

/// Saves a word after the frame that ends at `len`, through which its callee `fresh` leads to that frame. Returns the
/// new length; `None` if there is no room, or if the word lies in neither frame and so breaks the descending order.
#[inline(always)]
fn save(words: &mut [Seen], len: usize, fresh: &Fresh, saved: SavedWord) -> Option<usize> {
    let last = words.get(len.wrapping_sub(1))?.word.address;
    if saved.address >= last || saved.address < fresh.sp {
        return None;
    }
    *words.get_mut(len)? = Seen { word: saved, past: Past::NONE };
    Some(len.wrapping_add(1))
}

/// Gives the frame that ends at `len` the word by which `fresh` returns to it, on processors whose calls do not push
/// it. `None` if the word is not in `fresh`'s own frame, where an ordinary rule has it.
#[inline(always)]
fn save_returns(words: &mut [Seen], len: usize, fresh: &Fresh) -> Option<()> {
    let Seen { word, past } = words.get_mut(len.wrapping_sub(1))?;
    let (code, sp) = past.identity.parts()?;
    let returns_at = arch::returns_at(fresh.rule.bp_offset(), fresh.rule.ordinary()?.saves_bp);
    let address = sp.wrapping_add_signed(returns_at);
    // Everything that leads on from the caller lies above its stack pointer, so the order stays descending.
    if address >= sp || address < fresh.sp {
        return None;
    }
    *word = SavedWord { address, value: fresh.returns.word_to(code)? };
    Some(())
}

/// The same as [`save`] for that frame's rbp, which `fresh` has saved.
#[inline(always)]
fn save_bp(words: &mut [Seen], len: usize, fresh: &Fresh) -> Option<usize> {
    let Seen { word, past } = words.get(len.wrapping_sub(1))?;
    let (sp, value) = (past.sp(word), past.bp);
    let address = sp.wrapping_add_signed(fresh.rule.bp_offset());
    save(words, len, fresh, SavedWord { address, value })
}

/// The same for a frame `fresh` of one of the rare kinds. `None` also if it cannot be remembered; then no newer frame
/// can be.
#[cold]
#[inline(never)]
fn save_unusual(words: &mut [Seen], len: usize, fresh: &Fresh) -> Option<usize> {
    let Seen { word, past } = words.get(len.wrapping_sub(1))?;
    let (sp, value) = (past.sp(word), past.bp);
    let at_bp = |offset| fresh.bp.wrapping_add_signed(offset);
    match fresh.rule.kind()? {
        // The chain of frame pointers must rise, whoever uses its values.
        Kind::NoInformation => save(words, len, fresh, SavedWord { address: sp.wrapping_sub(16), value }),
        Kind::Deref => {
            let cfa = SavedWord { address: at_bp(fresh.rule.cfa_offset()), value: sp };
            let bp = SavedWord { address: at_bp(fresh.rule.bp_offset()), value };
            let [first, second] = if cfa.address > bp.address { [cfa, bp] } else { [bp, cfa] };
            let len = save(words, len, fresh, first)?;
            save(words, len, fresh, second)
        }
        // An interrupted frame, found through a signal frame, may lie on another stack, and a goroutine's does.
        _ => None,
    }
}
