//! Which ring a thread gets.
//!
//! The first free ring that has room: what the last owner left in it may not have been read yet, and then the next
//! owner could not even record that it is another thread.
//!
//! A thread gives its ring back at its end, but some ends go unnoticed: what libc does after the last destructors,
//! such as freeing the stacks of other threads, may be a thread's first event. Their rings are *taken back* when that
//! matters: when all rings are taken, and each time when twice as many would be used as ever before.

use super::{LONGEST, SPARE};
use crate::platform::sys;
use crate::process::{self, Loss, Session, clock};
use core::sync::atomic::{AtomicU32, Ordering};
use shared_ring::record::{Record, encode};
use shared_ring::ring::Producer;
use shared_ring::segment::RingEntry;

/// A ring, with its index.
pub(super) type Ring = (usize, &'static RingEntry);

/// So many rings may be used without looking for abandoned ones.
const FEW: usize = 64;
/// One in so many failing claims examines all threads again: there may be thousands, and each takes a system call.
const LOOKS: u32 = 256;
/// Failing claims since a ring was last taken back.
static IN_VAIN: AtomicU32 = AtomicU32::new(0);

/// Claims a ring, or says why there is none. A full one is taken only if there is no other and its owner may wait.
#[cold]
pub(super) fn ring(session: &Session, slot: u32, tid: u32) -> Result<Ring, Loss> {
    let mut found = free(session, slot, tid, has_room);
    if is_due(session, found) && take_back(session, slot, tid) {
        if let Some((_, entry)) = found {
            entry.release();
        }
        found = free(session, slot, tid, has_room);
    }
    if let Some(ring) = found {
        return Ok(ring);
    }
    let ring = free(session, slot, tid, |_, _| true).ok_or(Loss::NoRing)?;
    if session.control.header().block.load(Ordering::Relaxed) == 0 {
        ring.1.release();
        return Err(Loss::RingFull);
    }
    Ok(ring)
}

/// Claims the first free ring that satisfies `is_wanted`.
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

/// True when a ring has room for the record of its next owner and a first record of any kind.
fn has_room(session: &Session, (ring, entry): Ring) -> bool {
    // Relaxed, both: the claim ordered us after the last producer, and if the tail has moved on, there is more room.
    let (head, tail) = (&entry.front.head, session.control.tail(ring));
    let used = head.load(Ordering::Relaxed).wrapping_sub(tail.load(Ordering::Relaxed));
    let length = session.segment.geometry().ring_length() as u64;
    length.saturating_sub(used) >= (2 * LONGEST + SPARE) as u64
}

/// True when it is time to check which threads are gone: before this ring is taken, or because there is none.
fn is_due(session: &Session, found: Option<Ring>) -> bool {
    match found {
        Some((ring, _)) => {
            let used = session.segment.header().rings_used.load(Ordering::Relaxed) as usize;
            ring >= FEW && ring >= used && ring.is_power_of_two()
        }
        // Relaxed: only a count.
        None => IN_VAIN.fetch_add(1, Ordering::Relaxed).is_multiple_of(LOOKS),
    }
}

/// Takes back the rings of threads of this process that are gone, and records their ends; false when there are none.
#[cold]
fn take_back(session: &Session, slot: u32, tid: u32) -> bool {
    let used = session.segment.header().rings_used.load(Ordering::Relaxed) as usize;
    let mut is_any = false;
    for (ring, entry) in session.segment.directory().iter().enumerate().take(used) {
        let owner = entry.owner().filter(|(owner, thread)| *owner == slot && *thread != tid);
        if let Some((_, thread)) = owner
            && sys::is_gone(thread)
            && entry.take_over(slot, thread, tid)
        {
            end(session, ring, entry);
            is_any = true;
        }
    }
    if is_any {
        IN_VAIN.store(0, Ordering::Relaxed);
    }
    is_any
}

/// Records the end of the thread that had the ring, and gives the ring back.
fn end(session: &Session, ring: usize, entry: &'static RingEntry) {
    let mut producer =
        Producer::new(session.segment.ring(ring), &entry.front.head, session.control.tail(ring));
    let time = clock::now(process::uses_tsc(), false);
    let records = [Record::Time { time }, Record::End].map(|record| encode(record, 0));
    let length = records.iter().map(|(_, length)| length).sum();
    // If there is no room, the next owner's record implies the same.
    if session.commit_ring(ring)
        && let Some(mut room) = producer.reserve(length, 0)
    {
        records
            .iter()
            .flat_map(|(words, length)| words.iter().take(*length))
            .for_each(|word| room.push(*word));
    }
    entry.front.waiting.store(0, Ordering::Relaxed);
    entry.release();
}
