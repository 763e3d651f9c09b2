//! A search for names at the end of a recording, as others see it who wait for it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How far the search is, and whether somebody wants it to end.
#[derive(Debug, Default)]
pub struct NameSearch {
    pub(crate) is_given_up: AtomicBool,
    wanted: AtomicU64,
    answered: AtomicU64,
}

// Relaxed, everywhere below: numbers for people and a flag; nothing is read on the strength of them.
impl NameSearch {
    /// One that nobody wants.
    pub fn given_up() -> NameSearch {
        NameSearch { is_given_up: AtomicBool::new(true), ..NameSearch::default() }
    }

    /// Ends it, and says whether it had been ended before. What is known by then is kept.
    pub fn give_up(&self) -> bool {
        self.is_given_up.swap(true, Ordering::Relaxed)
    }

    /// Addresses that have their answer, and all that are looked up: none before it begins.
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

    /// Check that a search has no progress before it begins, and counts its answers then; and that giving it up tells who was
    /// first.
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
