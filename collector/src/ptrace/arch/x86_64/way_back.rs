//! A way back, without us, for a thread in a call of ours that does not return.
//!
//! Such a call cannot be broken off, because it may hold locks. Instead the thread gets a signal frame on its stack:
//! the call returns to the two instructions in libc by which signal handlers return, and the kernel restores the
//! thread's old state.
//!
//! ```text
//!   lower addresses                                                               where it stood
//!   ┌───────────────┬───────────────────────────────┬──────┬─────────┬──────────┐
//!   │ rt_sigreturn  │ registers, signals, ─────────────────► vectors │ red zone │
//!   │ the call's    │ as `struct ucontext` has them │ text │         │          │
//!   │ return address│                               │      │         │          │
//!   └───────────────┴───────────────────────────────┴──────┴─────────┴──────────┘
//! ```

use super::{Registers, at};
use crate::ptrace::tracee::{Mask, Vectors};
use libc::user_regs_struct;
use std::arch::x86_64::__cpuid_count;
use std::io;
use std::mem::offset_of;

/// `mov $15, %rax; syscall`
pub(crate) const RESTORER: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
/// They lie in libc.
pub(crate) const IS_IN_LIBC: bool = true;
/// Distance from a call's return address to the text above its frame.
pub(crate) const FRAME: u64 = BYTES as u64 + 8;

/// Bytes of the frame: a return address and `struct ucontext`, rounded up to a multiple of 16.
const BYTES: usize = 320;
/// Bytes that follow the vector state.
const BEHIND: usize = 4;
/// `UC_FP_XSTATE`, `UC_SIGCONTEXT_SS`, `UC_STRICT_RESTORE_SS`
const FLAGS: u64 = 7;
/// Invalid flags for an alternate stack, so that the thread keeps the one that it has.
const NO_STACK: u64 = 0xff;
/// In the vector state: the part of the legacy area reserved for software, and its magic numbers.
const SOFTWARE: usize = 464;
const BITS: usize = 512;
const MAGIC: u32 = 0x4650_5853;
const MAGIC_BEHIND: u32 = 0x4650_5845;
/// Bytes of the legacy area and the header.
const LEAST: usize = 576;
/// AMX tiles, for which a thread has room only if it uses them.
const TILES: u64 = 3 << 17;

/// The general registers in the order of a signal frame.
const GENERAL: [usize; 18] = [
    at!(r8),
    at!(r9),
    at!(r10),
    at!(r11),
    at!(r12),
    at!(r13),
    at!(r14),
    at!(r15),
    at!(rdi),
    at!(rsi),
    at!(rbp),
    at!(rbx),
    at!(rdx),
    at!(rax),
    at!(rcx),
    at!(rsp),
    at!(rip),
    at!(eflags),
];

/// Bytes above the text that a way back takes.
pub(crate) fn room(vectors: &Vectors) -> u64 {
    (vectors.bytes.len().next_multiple_of(8) + BEHIND + 4) as u64
}

/// What is to be written, and where, so that a call returns to this state: the vectors go `above` the text, and the
/// frame begins at the call's return address.
///
/// # Errors
/// None.
pub(crate) fn parts(
    restorer: u64,
    registers: &Registers,
    mask: Mask,
    vectors: &Vectors,
    [above, frame]: [u64; 2],
) -> io::Result<Vec<(u64, Vec<u8>)>> {
    let bytes = self::frame(restorer, registers, mask, above);
    Ok(vec![(above, self::vectors(&vectors.bytes)), (frame, bytes.to_vec())])
}

/// A frame that restores a thread's state, with these vectors.
fn frame(restorer: u64, Registers(words): &Registers, mask: Mask, vectors: u64) -> [u8; BYTES] {
    let head = [restorer, FLAGS, 0, 0, NO_STACK, 0];
    let general = GENERAL.map(|at| words[at]);
    let segments = words[at!(cs)] & 0xffff | (words[at!(ss)] & 0xffff) << 48;
    // The fault's error, trap, old mask and address are zero: there was none.
    let others = [segments, 0, 0, 0, 0, vectors];
    let words = head.into_iter().chain(general).chain(others).chain([0; 8]).chain([mask]);
    let mut bytes = [0; BYTES];
    for (place, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *place = word.to_le_bytes();
    }
    bytes
}

/// The vector state in signal frame format, from that which ptrace returns.
fn vectors(given: &[u8]) -> Vec<u8> {
    let bits = |at: usize| {
        let word = given.get(at..).and_then(|rest| rest.first_chunk());
        word.map_or(0, |word| u64::from_le_bytes(*word))
    };
    // The components enabled here, and those not in their initial state.
    let (here, used) = (bits(SOFTWARE), bits(BITS));
    let kept = here & (!TILES | used);
    let length = length_of(kept).min(given.len());
    let mut bytes = given.get(..length).unwrap_or_default().to_vec();
    let size = u32::try_from(length).unwrap_or(0);
    let signs = [MAGIC.to_le_bytes(), (size + BEHIND as u32).to_le_bytes()].concat();
    let software = [signs, kept.to_le_bytes().to_vec(), size.to_le_bytes().to_vec()].concat();
    if let Some(place) = bytes.get_mut(SOFTWARE..SOFTWARE + software.len()) {
        place.copy_from_slice(&software);
    }
    bytes.extend(MAGIC_BEHIND.to_le_bytes());
    bytes
}

/// The size of such a vector state, according to the processor.
fn length_of(kept: u64) -> usize {
    let ends = (2..63).filter(|number| kept >> number & 1 != 0).map(|number| {
        let part = __cpuid_count(0xd, number);
        (part.ebx + part.eax) as usize
    });
    ends.max().unwrap_or(0).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptrace::arch::restorer;

    /// Check that the parts of a frame are where the kernel looks for them.
    #[test]
    fn frames_are_laid_out_as_signals_are() {
        let mut registers = Registers(Default::default());
        let given = [(at!(r8), 8), (at!(rsp), 0x7000), (at!(rip), 0x4000), (at!(eflags), 0x246)];
        let segments = [(at!(cs), 0x33), (at!(ss), 0x2b)];
        given.into_iter().chain(segments).for_each(|(at, word)| registers.0[at] = word);
        let bytes = frame(0x1234, &registers, 5, 0x9000);
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let context = |offset: usize| word(8 + offset);
        let general = std::mem::offset_of!(libc::ucontext_t, uc_mcontext);
        let register = |number: i32| context(general + 8 * number as usize);
        assert_eq!(word(0), 0x1234);
        assert_eq!((register(libc::REG_R8), register(libc::REG_RSP)), (8, 0x7000));
        assert_eq!((register(libc::REG_RIP), register(libc::REG_EFL)), (0x4000, 0x246));
        assert_eq!(register(libc::REG_CSGSFS), 0x002b_0000_0000_0033);
        assert_eq!(context(general + 23 * 8), 0x9000, "behind 23 registers");
        assert_eq!(context(std::mem::offset_of!(libc::ucontext_t, uc_sigmask)), 5);
        assert_eq!(context(std::mem::offset_of!(libc::ucontext_t, uc_flags)), FLAGS);
    }

    /// Check that vector states have the magic numbers that the kernel requires, whatever ptrace returned.
    #[test]
    fn vectors_have_their_signs() {
        for length in [0, 100, 512, LEAST, 832, 2696, 11_008] {
            let mut given = vec![7; length];
            if let Some(bits) = given.get_mut(SOFTWARE..SOFTWARE + 8) {
                bits.copy_from_slice(&7_u64.to_le_bytes());
            }
            let found = vectors(&given);
            let size = found.len() - BEHIND;
            assert!(size <= length && found[size..] == MAGIC_BEHIND.to_le_bytes());
            if size >= LEAST {
                assert_eq!(found[SOFTWARE..SOFTWARE + 4], MAGIC.to_le_bytes());
                assert_eq!(found[SOFTWARE + 16..SOFTWARE + 20], (size as u32).to_le_bytes());
            }
        }
        assert_eq!(restorer(&[&[0x90; 5], &RESTORER[..], &[0x90]].concat()), Some(5));
        assert_eq!(restorer(&RESTORER[..8]), None);
    }
}
