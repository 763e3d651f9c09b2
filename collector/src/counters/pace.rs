//! How often counters are read.

use std::time::Duration;

/// Time between two looks while there is something to see.
const SHORTEST: Duration = Duration::from_millis(100);
/// The same when there has been nothing for a while.
const LONGEST: Duration = Duration::from_secs(1);

/// The time until the next look: twice the last one after each look that found nothing.
#[derive(Debug)]
pub(super) struct Pace {
    time: Duration,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { time: SHORTEST }
    }
}

impl Pace {
    /// A look has found something, or nothing.
    pub(super) fn looked(&mut self, found: bool) {
        match found {
            true => self.hurry(),
            false => self.time = (self.time * 2).min(LONGEST),
        }
    }

    /// There is something that no look has found yet.
    pub(super) fn hurry(&mut self) {
        self.time = SHORTEST;
    }

    /// Time until the next look.
    pub(super) fn time(&self) -> Duration {
        self.time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that looks become rare where there is nothing to see, and frequent at once where there is.
    #[test]
    fn looks_are_as_frequent_as_they_are_worth() {
        let mut pace = Pace::default();
        let times = [true, false, false, false, false, false, true, false].map(|found| {
            pace.looked(found);
            pace.time().as_millis()
        });
        assert_eq!(times, [100, 200, 400, 800, 1000, 1000, 100, 200]);
    }
}
