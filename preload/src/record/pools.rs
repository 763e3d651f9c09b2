//! Pools: heaps of the program's own, which it reports by name.
//!
//! A pool is a number from 1, the same for equal names, for the life of the process and of its forked children. Names
//! are kept here, so a pool may be created before there is a recording; each process reports a name once, before the
//! first block of the pool.

use crate::process;
use crate::record::guard::HookGuard;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use shared_ring::record::name::{MAX_NAME, MAX_POOLS, Named};

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const READY: u32 = 2;

const WORDS: usize = MAX_NAME.div_ceil(8);

/// One pool. Once it is ready, no word changes except `reported`.
#[derive(Debug)]
struct Pool {
    state: AtomicU32,
    /// Length of the name in bytes.
    length: AtomicU32,
    /// The process epoch in which the name was last reported.
    reported: AtomicU32,
    name: [AtomicU64; WORDS],
}

impl Pool {
    const fn new() -> Self {
        Self {
            state: AtomicU32::new(FREE),
            length: AtomicU32::new(0),
            reported: AtomicU32::new(0),
            name: [const { AtomicU64::new(0) }; WORDS],
        }
    }

    /// Takes this place for a name if it is free.
    fn take(&self, name: &[u8]) -> bool {
        // Relaxed: the words are published by the Release store below.
        if self.state.compare_exchange(FREE, TAKEN, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return false;
        }
        for (word, bytes) in self.name.iter().zip(name.chunks(8)) {
            word.store(pack(bytes), Ordering::Relaxed);
        }
        self.length.store(name.len() as u32, Ordering::Relaxed);
        // Release pairs with the Acquire load in `has`.
        self.state.store(READY, Ordering::Release);
        true
    }

    /// True for the pool of this name.
    fn has(&self, name: &[u8]) -> bool {
        // Acquire pairs with the Release store in `take`.
        self.state.load(Ordering::Acquire) == READY
            && self.length.load(Ordering::Relaxed) as usize == name.len()
            && self
                .name
                .iter()
                .zip(name.chunks(8))
                .all(|(word, bytes)| word.load(Ordering::Relaxed) == pack(bytes))
    }
}

fn pack(bytes: &[u8]) -> u64 {
    let mut packed = [0; 8];
    for (to, from) in packed.iter_mut().zip(bytes) {
        *to = *from;
    }
    u64::from_le_bytes(packed)
}

static POOLS: [Pool; MAX_POOLS as usize] = [const { Pool::new() }; MAX_POOLS as usize];

/// The number of the pool of this name, of which the first [`MAX_NAME`] bytes count; 0 when there are too many pools.
///
/// Two threads that create a pool of the same name at once may get two numbers. It is one heap all the same, since
/// the capture goes by names.
pub(crate) fn number(name: &[u8]) -> u32 {
    let name = name.get(..MAX_NAME).unwrap_or(name);
    let found = POOLS.iter().position(|pool| pool.has(name));
    let place = found.or_else(|| POOLS.iter().position(|pool| pool.take(name)));
    place.map_or(0, |place| place as u32 + 1)
}

/// Makes sure that the pool's name was reported; false when there is no such pool, or no room to report it.
// Cost: two loads and a compare once it was reported.
#[inline(always)]
pub(crate) fn is_reported(hook: &mut HookGuard, pool: u32) -> bool {
    let Some(place) = (pool as usize).checked_sub(1).and_then(|index| POOLS.get(index)) else { return false };
    // Acquire pairs with the Release store in `report`: the record of the name was published, with an earlier time,
    // before anything that this thread reports about the pool.
    place.reported.load(Ordering::Acquire) == process::epoch() || report(hook, place, pool)
}

#[cold]
#[inline(never)]
fn report(hook: &mut HookGuard, pool: &Pool, number: u32) -> bool {
    // Acquire: as in `Pool::has`.
    if pool.state.load(Ordering::Acquire) != READY {
        return false;
    }
    let mut bytes = [0; WORDS * 8];
    for (to, word) in bytes.chunks_exact_mut(8).zip(&pool.name) {
        to.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
    }
    let name = bytes.get(..pool.length.load(Ordering::Relaxed) as usize).unwrap_or(&[]);
    let is_reported = hook.state().tell(Named::Pool(number), name);
    if is_reported {
        // Release pairs with the Acquire load in `is_reported`.
        pool.reported.store(process::epoch(), Ordering::Release);
    }
    is_reported
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that equal names are one pool, whatever their length, and that the number of pools is limited.
    #[test]
    fn equal_names_are_one_pool() {
        let long = [b'x'; 300];
        let first = number(b"first");
        let (empty, cut) = (number(b""), number(&long));
        assert_eq!((first, empty, cut), (1, 2, 3));
        assert_eq!((number(b"first"), number(b""), number(&long[..255])), (first, empty, cut));
        assert_ne!(number(&long[..254]), cut);
        let numbers = (0..100u32).map(|name| number(&name.to_le_bytes()));
        assert_eq!(numbers.filter(|number| *number == 0).count(), 100 - (MAX_POOLS as usize - 4));
        assert_eq!(number(b"first"), first);
    }
}
