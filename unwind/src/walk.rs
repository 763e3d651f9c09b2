//! Walking a stack, innermost frame first.

use crate::address::CodeAddress;
use crate::arch::{self, SignalContext};
use crate::end::End;
use crate::frame::Frame;
use crate::memory::Memory;
use crate::memory::word;
use crate::registers::Registers;
use crate::rule::Ordinary;
use crate::rule::{Kind, Rule};
use crate::rules::Rules;
use crate::{frame_pointer, go};
use core::hint::select_unpredictable;

/// Visits the frames of a stack from `start` to the root, innermost first.
///
/// `visit` gets each frame's address and the tag beside its cached rule: a number of the caller's, which is 0 until
/// the caller sets it, and lost when the rule leaves the per-thread table. For rules that are not cached, it is
/// always 0, and what is stored there is forgotten.
///
/// At most `max_depth` frames are visited, which also bounds the time for a stack made up by an adversary. A frame is
/// visited only if its address is code.
///
/// Cost: about 5 ns per frame once the rules of the stack are cached: the return address, its hash, the rule and the
/// addition that gives the next return address depend on each other.
#[inline]
pub fn walk<M: Memory, R: Rules>(
    start: Registers,
    memory: &mut M,
    rules: &mut R,
    max_depth: usize,
    mut visit: impl FnMut(CodeAddress, &mut u32),
) -> End {
    // The key of this address would be that of a free entry in the tables.
    if start.ip == CodeAddress::Return(0) {
        return End::Broken;
    }
    // Separate words instead of a frame: a frame whose address is passed anywhere could not stay in registers.
    let (mut code, mut sp, mut bp, mut context) = Frame::innermost(start).into_words();
    for _ in 0..max_depth {
        let address = CodeAddress::from_bits(code);
        let Some((rule, tag)) = rules.rule(address) else { return End::Broken };
        visit(address, tag);
        (code, sp, bp, context) = match leave(rule, (code, sp, bp, context), memory, rules) {
            Ok(words) => words,
            Err(end) => return end,
        };
    }
    End::Truncated
}

/// The caller of a frame, both as separate words.
#[inline(always)]
pub(crate) fn leave<M: Memory, R: Rules>(
    rule: Rule,
    (code, sp, bp, context): Words,
    memory: &mut M,
    rules: &mut R,
) -> Result<Words, End> {
    match ordinary(rule, sp, bp, memory) {
        Some(caller) => caller.map(Frame::into_words),
        None => unusual(rule, Frame::from_words(code, sp, bp, context), memory, rules).map(Frame::into_words),
    }
}

/// The words of a [`Frame`].
type Words = (u64, u64, u64, Option<SignalContext>);

/// The caller of `frame`, which is left by `rule`.
///
/// # Errors
///
/// Why there is no caller; [`End::Root`] means that the stack is complete.
#[inline]
pub fn step<M: Memory, R: Rules>(
    rule: Rule,
    frame: Frame,
    memory: &mut M,
    rules: &mut R,
) -> Result<Frame, End> {
    match ordinary(rule, frame.sp(), frame.bp(), memory) {
        Some(caller) => caller,
        None => unusual(rule, frame, memory, rules),
    }
}

/// The caller of a frame with these registers, if `rule` is of an ordinary kind: the frame's own words end at the
/// CFA, the return address is at a known place below that, and the frame pointer is unchanged or saved.
#[inline(always)]
pub(crate) fn ordinary(rule: Rule, sp: u64, bp: u64, memory: &mut impl Memory) -> Option<Result<Frame, End>> {
    let Ordinary { uses_bp, saves_bp } = rule.ordinary()?;
    // The next ordinary kind cannot be predicted, so there is no branch on the kind.
    let cfa = select_unpredictable(uses_bp, bp, sp).wrapping_add_signed(rule.cfa_offset());
    // No stack word has an unaligned address.
    if cfa <= sp || !cfa.is_multiple_of(8) {
        return Some(Err(End::Broken));
    }
    // If the frame pointer is not saved, both loads read the same word.
    let second = rule.bp_offset();
    let returns_at = arch::returns_at(second, saves_bp);
    Some(match memory.read_both(cfa.wrapping_add_signed(returns_at), cfa.wrapping_add_signed(second)) {
        Some((returns, saved)) => {
            Frame::caller(arch::code_address(returns), cfa, select_unpredictable(saves_bp, saved, bp))
        }
        None => Err(End::Unreadable),
    })
}

/// The kinds that are rare, or that end a stack.
#[cold]
#[inline(never)]
fn unusual<M: Memory, R: Rules>(
    rule: Rule,
    frame: Frame,
    memory: &mut M,
    rules: &mut R,
) -> Result<Frame, End> {
    match rule.kind() {
        Some(Kind::End) => Err(End::Root),
        Some(Kind::Deref) => {
            let bp = frame.bp();
            let cfa = word(memory, bp.wrapping_add_signed(rule.cfa_offset()))?;
            let bp = word(memory, bp.wrapping_add_signed(rule.bp_offset()))?;
            if cfa <= frame.sp() {
                return Err(End::Broken);
            }
            Frame::caller(word(memory, cfa.wrapping_sub(8))?, cfa, bp)
        }
        Some(Kind::Signal) => interrupted(frame, memory),
        Some(Kind::Slow) => rules.evaluate(&frame, memory),
        Some(Kind::Goroutine) => go::to_goroutine(rule, &frame, memory),
        Some(Kind::NoInformation) => frame_pointer::step(&frame, memory, rules),
        // The ordinary kinds do not get here, and a word that is no rule leads nowhere.
        Some(Kind::Sp | Kind::SpSavesBp | Kind::Bp | Kind::BpSavesBp) | None => Err(End::Broken),
    }
}

/// The frame that a signal trampoline interrupted. Its stack pointer is not compared with the handler's, which may
/// have run on an alternate stack.
fn interrupted(frame: Frame, memory: &mut impl Memory) -> Result<Frame, End> {
    let mut saved = |offset| word(memory, frame.sp().wrapping_add_signed(offset));
    let (ip, sp, bp) = (saved(arch::SAVED_IP)?, saved(arch::SAVED_SP)?, saved(arch::SAVED_BP)?);
    if !sp.is_multiple_of(8) {
        return Err(End::Broken);
    }
    Frame::interrupted(ip, sp, bp, SignalContext::at(frame.sp()))
}

// The made-up tables are those of x86-64.
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
