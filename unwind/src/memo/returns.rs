//! The word that holds a return address.

use crate::arch;
use crate::memory::Memory;
use crate::rule::{Ordinary, Rule};

/// The word in which a frame keeps its return address, on processors where functions may sign it: the signature is
/// part of the word, which is compared, but not of the address. Elsewhere the word is the address, and this is empty.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Returns([u64; LENGTH]);

const LENGTH: usize = if arch::PUSHES_RETURN_ADDRESS { 0 } else { 1 };

impl Returns {
    /// The word of a frame with these registers that is left by an ordinary rule; 0 for other frames.
    #[inline(always)]
    pub(super) fn of(rule: Rule, sp: u64, bp: u64, memory: &mut impl Memory) -> Self {
        let mut returns = Self([0; LENGTH]);
        for word in &mut returns.0 {
            *word = Self::slot(rule, sp, bp).and_then(|slot| memory.read(slot)).unwrap_or(0);
        }
        returns
    }

    fn slot(rule: Rule, sp: u64, bp: u64) -> Option<u64> {
        let Ordinary { uses_bp, saves_bp } = rule.ordinary()?;
        let cfa = if uses_bp { bp } else { sp }.wrapping_add_signed(rule.cfa_offset());
        let slot = cfa.wrapping_add_signed(arch::returns_at(rule.bp_offset(), saves_bp));
        slot.is_multiple_of(8).then_some(slot)
    }

    /// The word, if it leads to this address. It was read separately from the walk, and another thread that writes to
    /// the stack may have come in between.
    #[inline(always)]
    pub(super) fn word_to(self, code: u64) -> Option<u64> {
        match *self.0.as_slice() {
            [word] => (arch::code_address(word) == code).then_some(word),
            _ => Some(code),
        }
    }
}
