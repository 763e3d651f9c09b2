//! Which ring a thread gets.
//!
//! The first free one that has room: what the last owner left in it may not be read yet, and then the next one could not even
//! tell that it is another.

use super::{LONGEST, SPARE};
use crate::process::{Loss, Session};
use core::sync::atomic::Ordering;
use shared_ring::segment::RingEntry;

/// A ring, by its number.
type Ring = (usize, &'static RingEntry);

/// Claims a ring, or says why there is none. One that is full is taken only where there is no other and its owner may wait.
#[cold]
pub(super) fn ring(session: &Session, slot: u32, tid: u32) -> Result<Ring, Loss> {
    if let Some(ring) = free(session, slot, tid, has_room) {
        return Ok(ring);
    }
    let ring = free(session, slot, tid, |_, _| true).ok_or(Loss::NoRing)?;
    if session.control.header().block.load(Ordering::Relaxed) == 0 {
        ring.1.release();
        return Err(Loss::RingFull);
    }
    Ok(ring)
}

/// Claims the first free ring of those that are wanted.
fn free(session: &Session, slot: u32, tid: u32, is_wanted: impl Fn(&Session, Ring) -> bool) -> Option<Ring> {
    session.segment.directory().iter().enumerate().find(|ring| {
        let is_claimed = ring.1.claim(slot, tid);
        let is_kept = is_claimed && is_wanted(session, *ring);
        if is_claimed && !is_kept {
            ring.1.release();
        }
        is_kept
    })
}

/// True when a ring has room for the record of its next owner and a first one of any other kind.
fn has_room(session: &Session, (ring, entry): Ring) -> bool {
    // Relaxed, both: the claim ordered us after the last producer, and where the tail has moved on there is more room.
    let (head, tail) = (&entry.front.head, session.control.tail(ring));
    let used = head.load(Ordering::Relaxed).wrapping_sub(tail.load(Ordering::Relaxed));
    let length = session.segment.geometry().ring_length() as u64;
    length.saturating_sub(used) >= (2 * LONGEST + SPARE) as u64
}
