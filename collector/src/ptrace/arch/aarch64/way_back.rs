//! A way back, without us, for a thread in a call of ours that does not return.
//!
//! Such a call cannot be broken off, because it may hold locks. Instead the thread gets a signal frame on its stack:
//! the call returns to the two instructions by which signal handlers return, and the kernel restores the thread's old
//! state.
//!
//! ```text
//!   lower addresses                                             where it stood
//!   ┌─────────────────────────────────────────────────────────┬──────┬────────┐
//!   │ signal's description, empty │ mask │ registers │ vectors │ text │ margin │
//!   └─────────────────────────────────────────────────────────┴──────┴────────┘
//!   the call's stack pointer
//! ```

use super::{COUNT, NT_ARM_SVE, Registers};
use crate::ptrace::tracee::{Mask, Vectors};
use std::io;

/// `mov x8, #139; svc #0`
pub(crate) const RESTORER: [u8; 8] = [0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4];
/// They lie in the kernel's own module.
pub(crate) const IS_IN_LIBC: bool = false;
/// Distance from a call's stack pointer to the text above its frame.
pub(crate) const FRAME: u64 = (CONTEXTS + MOST) as u64;

/// Offsets in the frame of flags for an alternate stack, of the signal mask, of x0, and of the records of other
/// registers; and bytes of those.
const STACK_FLAGS: usize = 152;
const MASK: usize = 168;
const REGISTERS: usize = 312;
const CONTEXTS: usize = 592;
const MOST: usize = 4096;
/// Invalid flags for an alternate stack, so that the thread keeps the one that it has.
const NO_STACK: u64 = 0xff;
/// The magic numbers of records.
const SIMD_MAGIC: u32 = 0x4650_8001;
const SVE_MAGIC: u32 = 0x5356_4501;
/// In a state of SVE: offsets of the bytes of a vector, of flags, and of the registers. One of the flags says that
/// they are those of SVE indeed.
const LENGTH: usize = 8;
const FLAGS: usize = 12;
const VECTORS: usize = 16;
const IS_SVE: u16 = 1;
/// Bytes of all registers of 16 bytes.
const SIMD: usize = 512;

/// Bytes above the text that a way back takes.
pub(crate) fn room(_vectors: &Vectors) -> u64 {
    0
}

/// What is to be written, and where, so that a call returns to this state. `frame` is the call's stack pointer.
///
/// # Errors
/// When the vectors are longer than a frame can hold.
pub(crate) fn parts(
    _restorer: u64,
    registers: &Registers,
    mask: Mask,
    vectors: &Vectors,
    [_above, frame]: [u64; 2],
) -> io::Result<Vec<(u64, Vec<u8>)>> {
    let mut bytes = vec![0; CONTEXTS + MOST];
    let mut put = |at: usize, words: &[u64]| {
        let places = bytes[at..].as_chunks_mut().0;
        places.iter_mut().zip(words).for_each(|(place, word)| *place = word.to_le_bytes());
    };
    put(STACK_FLAGS, &[NO_STACK]);
    put(MASK, &[mask]);
    put(REGISTERS, &registers.words[..COUNT]);
    let records = records(vectors).ok_or_else(|| io::Error::other("its vectors are unknown or too long"))?;
    // Zeros behind the records end them.
    let room = bytes.get_mut(CONTEXTS..CONTEXTS + records.len()).filter(|_| records.len() <= MOST - 16);
    room.ok_or_else(|| io::Error::other("its vectors are too long"))?.copy_from_slice(&records);
    Ok(vec![(frame, bytes)])
}

/// The vector state as records of a signal frame, from that which ptrace returns.
fn records(vectors: &Vectors) -> Option<Vec<u8>> {
    let bytes = &vectors.bytes;
    let short = |at: usize| bytes.get(at..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes));
    if vectors.set != NT_ARM_SVE as usize {
        return simd(bytes.get(..SIMD)?, bytes.get(SIMD..SIMD + 8)?);
    }
    if short(FLAGS)? & IS_SVE == 0 {
        let registers = bytes.get(VECTORS..)?;
        return simd(registers.get(..SIMD)?, registers.get(SIMD..SIMD + 8)?);
    }
    let length = Some(usize::from(short(LENGTH)?)).filter(|length| *length >= 16)?;
    // 32 vectors, and 17 predicates with a bit for each of their bytes.
    let end = VECTORS + 32 * length + 17 * length / 8;
    let registers = bytes.get(VECTORS..end)?;
    let status = bytes.get(end.next_multiple_of(16)..)?.get(..8)?;
    let low: Vec<u8> =
        registers[..32 * length].chunks(length).flat_map(|vector| &vector[..16]).copied().collect();
    let mut records = simd(&low, status)?;
    let size = u32::try_from((VECTORS + registers.len()).next_multiple_of(16)).ok()?;
    let begun = records.len();
    records.extend([SVE_MAGIC.to_le_bytes(), size.to_le_bytes()].concat());
    records.extend(u64::from(short(LENGTH)?).to_le_bytes());
    records.extend(registers);
    records.resize(begun + size as usize, 0);
    Some(records)
}

/// The record of the vectors' first 16 bytes, with the status and control registers.
fn simd(vectors: &[u8], status: &[u8]) -> Option<Vec<u8>> {
    let size = (16 + SIMD) as u32;
    let head = [SIMD_MAGIC.to_le_bytes(), size.to_le_bytes()].concat();
    (vectors.len() == SIMD).then(|| [&head, status, vectors].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    fn vectors(set: u32, bytes: Vec<u8>) -> Vectors {
        Vectors { set: set as usize, bytes }
    }

    /// Check that the parts of a frame are where the kernel looks for them.
    #[test]
    fn frames_are_laid_out_as_signals_are() {
        let context = size_of::<libc::siginfo_t>();
        let machine = context + offset_of!(libc::ucontext_t, uc_mcontext);
        assert_eq!(
            STACK_FLAGS,
            context + offset_of!(libc::ucontext_t, uc_stack) + offset_of!(libc::stack_t, ss_flags)
        );
        assert_eq!(MASK, context + offset_of!(libc::ucontext_t, uc_sigmask));
        assert_eq!(REGISTERS, machine + offset_of!(libc::mcontext_t, regs));
        assert_eq!(REGISTERS + 8 * super::super::SP, machine + offset_of!(libc::mcontext_t, sp));
        assert_eq!(CONTEXTS + MOST, context + size_of::<libc::ucontext_t>());
    }

    /// Check that each kind of vector state becomes records of the right size, and that one of SVE keeps both its
    /// whole registers and their first bytes.
    #[test]
    fn vectors_become_records() {
        let plain = records(&vectors(2, (0..528).map(|at| at as u8).collect())).unwrap();
        assert_eq!((plain.len(), &plain[16..20]), (528, &[0, 1, 2, 3][..]));
        assert_eq!(plain[8..12], [0, 1, 2, 3], "the status is behind the registers");
        assert_eq!(records(&vectors(2, vec![0; 519])), None);
        for length in [16_u16, 32, 64] {
            let registers = usize::from(length) * 32;
            let all = registers + usize::from(length) * 17 / 8;
            let mut state = vec![0; VECTORS + all.next_multiple_of(16) + 16];
            state[LENGTH..LENGTH + 2].copy_from_slice(&length.to_le_bytes());
            state[FLAGS] = 1;
            (0..registers).for_each(|at| state[VECTORS + at] = (at / usize::from(length)) as u8);
            let records = records(&vectors(NT_ARM_SVE, state)).unwrap();
            assert!(records.len().is_multiple_of(16) && records.len() <= MOST - 16);
            assert!((0..SIMD).all(|at| records[16 + at] == (at / 16) as u8));
            assert_eq!(records[528 + 16..528 + 16 + registers][registers - 1], 31);
        }
    }
}
