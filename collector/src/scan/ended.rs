//! Stacks of threads that have ended.
//!
//! glibc keeps them for the threads to come, up to 40 MiB, with all that was left on them: addresses that keep nothing alive. At the
//! upper end of each lies what it knows of its thread, which begins with its own address; the thread's number in it is 0 once that has
//! ended, and -1 when somebody has waited for that.
//!
//! ```text
//!  guard: no access │ what the thread has left ······ │ own address, …, own address, …, number │ whatever lies behind
//!                   start                             block
//! ```

use super::areas::{Place, Stack};
use super::reading::Reading;
use super::words::Found;
use capture::AreaKind;

/// Where a thread's block has its own address for the second time.
const SELF: u64 = 0x10;
/// Where it has the thread's number, in all versions of glibc that are recorded.
const NUMBER: u64 = 0x2d0;

/// Threads whose blocks are looked at, to see that they are as they should be: the process waits.
const CHECKED: usize = 8;

fn has_ended(number: u32) -> bool {
    number.cast_signed() <= 0
}

/// Tells such stacks from other memory, if blocks look here as they should: as those of the threads that stand still.
pub(super) fn tell(places: &mut Vec<Place>, stacks: &[Stack], found: &Found, reading: &Reading) {
    // What a block says of its thread, if it is one.
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
