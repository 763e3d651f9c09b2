//! Finds the stacks of threads that have ended.
//!
//! glibc keeps them for later threads, up to 40 MiB, with everything that was left on them: addresses that keep
//! nothing alive. At the upper end of each lies the thread's control block, which holds its own address at its
//! beginning; the thread's number in it is 0 once the thread has ended, and -1 once it was joined.
//!
//! ```text
//!  guard: no access │ what the thread has left ······ │ own address, …, own address, …, number │ whatever lies behind
//!                   start                             block
//! ```

use super::areas::{Place, Stack};
use super::reading::Reading;
use super::words::Found;
use capture::AreaKind;

/// Offset in a thread's block of the second copy of its own address.
const SELF: u64 = 0x10;
/// Offset of the thread's number, in all supported versions of glibc.
const NUMBER: u64 = 0x2d0;

/// Most live threads whose blocks are checked for the expected layout: the process is stopped meanwhile.
const CHECKED: usize = 8;

fn has_ended(number: u32) -> bool {
    number.cast_signed() <= 0
}

/// Marks such stacks, if blocks of the stopped threads have the expected layout.
pub(super) fn tell(places: &mut Vec<Place>, stacks: &[Stack], found: &Found, reading: &Reading) {
    // The thread number in a block, if it is one.
    let number_in = |block: u64| {
        let number = reading.word(block + NUMBER)? as u32;
        (reading.word(block + SELF)? == block).then_some(number)
    };
    let known = |stack: &Stack| {
        let number = crate::numbers::own(stack.tid).unwrap_or(stack.tid);
        Some((stack.thread_pointer?, number))
    };
    let mut known = stacks.iter().take(CHECKED).filter_map(known).peekable();
    if known.peek().is_none() || !known.all(|(block, number)| number_in(block) == Some(number)) {
        return;
    }
    let mut told = Vec::with_capacity(places.len());
    for place in places.drain(..) {
        let blocks = if place.is_guarded { found.own_addresses(place.start + 1..place.end) } else { &[] };
        if let Some(block) = blocks.iter().copied().find(|block| number_in(*block).is_some_and(has_ended)) {
            told.push(Place { end: block, kind: AreaKind::Left, ..place.clone() });
            told.push(Place { start: block, ..place });
        } else {
            told.push(place);
        }
    }
    *places = told;
}
