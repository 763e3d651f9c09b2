//! Which thread freed the blocks of which other thread.

use crate::base::cost::Amount;
use crate::count::estimate::Estimator;
use capture::ThreadId;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Most pairs of threads that are told apart: a program with a thread per request may have millions.
const MOST_PAIRS: usize = 1 << 16;

/// Blocks of one thread that were freed by one thread, itself included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The threads that allocated and freed them; none for pairs beyond the limit.
    pub threads: Option<(ThreadId, ThreadId)>,
    /// The blocks.
    pub freed: Amount,
}

/// Counts blocks by pair of threads.
#[derive(Debug, Default)]
pub(super) struct Crossings {
    /// The pair counted last, not entered in the map yet: usually the next pair is the same.
    last: Option<(ThreadId, ThreadId)>,
    of_last: Amount,
    pairs: HashMap<(ThreadId, ThreadId), Amount>,
    others: Amount,
}

impl Crossings {
    // Cost: a compare and an add while the pair stays the same.
    #[inline]
    pub(super) fn count(&mut self, from: ThreadId, to: ThreadId, block: Amount) {
        if self.last != Some((from, to)) {
            self.enter();
            self.last = Some((from, to));
        }
        self.of_last += block;
    }

    fn enter(&mut self) {
        let freed = std::mem::take(&mut self.of_last);
        let Some(pair) = self.last else { return };
        let has_room = self.pairs.len() < MOST_PAIRS;
        match self.pairs.entry(pair) {
            Entry::Occupied(mut known) => *known.get_mut() += freed,
            Entry::Vacant(free) if has_room => {
                free.insert(freed);
            }
            Entry::Vacant(_) => self.others += freed,
        }
    }

    /// All pairs in whole blocks, most blocks first.
    pub(super) fn finish(mut self, estimator: &Estimator) -> Vec<Crossing> {
        self.enter();
        let pairs = self.pairs.iter();
        let mut all: Vec<Crossing> = pairs
            .map(|(&pair, &freed)| Crossing { threads: Some(pair), freed: estimator.whole(freed) })
            .collect();
        all.sort_unstable_by_key(|crossing| (Reverse(crossing.freed.blocks), crossing.threads));
        if !self.others.is_zero() {
            all.push(Crossing { threads: None, freed: estimator.whole(self.others) });
        }
        all
    }
}
