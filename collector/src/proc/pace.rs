//! How often counters are read.

use std::time::Duration;

/// Time between two rounds while values change.
const SHORTEST: Duration = Duration::from_millis(100);
/// Time between two rounds after a while without changes.
const LONGEST: Duration = Duration::from_secs(1);

/// The time until the next round: doubled after each round without changes.
#[derive(Debug)]
pub(crate) struct Pace {
    time: Duration,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { time: SHORTEST }
    }
}

impl Pace {
    /// Notes whether a round found changes.
    pub(crate) fn looked(&mut self, found: bool) {
        match found {
            true => self.hurry(),
            false => self.time = (self.time * 2).min(LONGEST),
        }
    }

    /// Something new is there that no round has read yet.
    pub(crate) fn hurry(&mut self) {
        self.time = SHORTEST;
    }

    /// Time until the next round.
    pub(crate) fn time(&self) -> Duration {
        self.time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that rounds become rare while nothing changes, and frequent at once when something does.
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
