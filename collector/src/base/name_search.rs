//! The search for names at the end of a recording, as seen by those who wait for it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Progress of the search, and whether somebody wants it to end.
#[derive(Debug, Default)]
pub struct NameSearch {
    pub(crate) is_given_up: AtomicBool,
    wanted: AtomicU64,
    answered: AtomicU64,
}

// Relaxed, everywhere below: numbers for people and a flag; nothing is read on the strength of them.
impl NameSearch {
    /// A search that is given up from the start.
    pub fn given_up() -> NameSearch {
        NameSearch { is_given_up: AtomicBool::new(true), ..NameSearch::default() }
    }

    /// Ends the search; returns whether it had been ended before. Names found by then are kept.
    pub fn give_up(&self) -> bool {
        self.is_given_up.swap(true, Ordering::Relaxed)
    }

    /// Addresses looked up so far and in total; `None` before the search begins.
    pub fn progress(&self) -> Option<(u64, u64)> {
        let wanted = self.wanted.load(Ordering::Relaxed);
        (wanted > 0).then(|| (self.answered.load(Ordering::Relaxed), wanted))
    }

    pub(crate) fn begin(&self, wanted: u64) {
        self.wanted.store(wanted, Ordering::Relaxed);
    }

    pub(crate) fn answer(&self) {
        self.answered.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that a search has no progress before it begins and then counts its answers, and that giving it up tells
    /// who was first.
    #[test]
    fn answers_are_counted() {
        let search = NameSearch::default();
        assert_eq!(search.progress(), None);
        search.begin(3);
        search.answer();
        assert_eq!(search.progress(), Some((1, 3)));
        assert!(!search.give_up() && search.give_up() && NameSearch::given_up().give_up());
    }
}
