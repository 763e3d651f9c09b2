//! Finds the stacks of threads that have ended.
//!
//! glibc keeps them for later threads, up to 40 MiB, with everything that was left on them: addresses that keep
//! nothing alive. At the upper end of each lies the thread's control block. A word in it, its mark here, holds its own
//! address, as does a second word; the thread's number in it is 0 once the thread has ended, and -1 once it was joined.
//!
//! ```text
//!  guard: no access │ what the thread has left ······ │ block: mark, mark's address, number │ whatever lies behind
//!                   start
//!
//!  x86-64      the mark begins the block, to which the thread pointer leads
//!  64-bit ARM  the block ends at the thread pointer; the mark is its list of robust locks, which is empty
//! ```

use super::areas::{Place, Stack};
use super::reading::Reading;
use super::words::{ALIGNMENT, Found};
use capture::AreaKind;

/// Distance from a mark to the second word with its address, in all supported versions of glibc.
const SECOND: i64 = if IS_ARM { -0x8 } else { 0x10 };
/// Distance from a mark to the thread's number.
const NUMBER: i64 = if IS_ARM { -0x10 } else { 0x2d0 };
/// Most bytes of a block below the thread pointer.
const BLOCK: u64 = if IS_ARM { 4096 } else { 0 };
const IS_ARM: bool = cfg!(target_arch = "aarch64");

/// Most live threads whose blocks are checked for the expected layout: the process is stopped meanwhile.
const CHECKED: usize = 8;

fn has_ended(number: u32) -> bool {
    number.cast_signed() <= 0
}

/// Marks such stacks, if blocks of the stopped threads have the expected layout.
pub(super) fn tell(places: &mut Vec<Place>, stacks: &[Stack], found: &Found, reading: &Reading) {
    // The number of the thread whose block has this mark, if it is one.
    let number_at = |mark: u64| {
        let number = reading.word(mark.wrapping_add_signed(NUMBER))? as u32;
        (reading.word(mark.wrapping_add_signed(SECOND))? == mark).then_some(number)
    };
    let has = |pointer: u64, number: u32| {
        let mut marks = (0..=BLOCK).step_by(ALIGNMENT as usize).map(|below| pointer.wrapping_sub(below));
        marks.any(|mark| number_at(mark) == Some(number))
    };
    let known = |stack: &Stack| {
        let number = crate::proc::namespace::own(stack.tid).unwrap_or(stack.tid);
        Some((stack.thread_pointer?, number))
    };
    let mut known = stacks.iter().take(CHECKED).filter_map(known).peekable();
    if known.peek().is_none() || !known.all(|(pointer, number)| has(pointer, number)) {
        return;
    }
    let mut told = Vec::with_capacity(places.len());
    for place in places.drain(..) {
        let marks = if place.is_guarded { found.own_addresses(place.start + 1..place.end) } else { &[] };
        if let Some(mark) = marks.iter().copied().find(|mark| number_at(*mark).is_some_and(has_ended)) {
            told.push(Place { end: mark, kind: AreaKind::Left, ..place.clone() });
            told.push(Place { start: mark, ..place });
        } else {
            told.push(place);
        }
    }
    *places = told;
}
