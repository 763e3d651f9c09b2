//! How often numbers are shown.

use std::time::Duration;

/// Readings take one part in so many of the time, at most: a process that does much is not slowed down by being looked at.
const PARTS: u32 = 20;

/// Waits as long as the user wants, and longer where readings cost more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    delay: Duration,
}

impl Pace {
    /// With at least so much time between two readings.
    pub(super) fn new(delay: Duration) -> Self {
        Self { delay }
    }

    /// From the end of a reading that took `cost` up to the next one.
    pub(super) fn after(self, cost: Duration) -> Duration {
        self.delay.saturating_add(cost.saturating_mul(PARTS - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that cheap readings come as often as they are wanted, and that those that cost much take a twentieth of the time.
    #[test]
    fn readings_take_a_bounded_share() {
        let pace = Pace::new(Duration::from_secs(1));
        assert_eq!(pace.after(Duration::ZERO), Duration::from_secs(1));
        for milliseconds in [1, 50, 400, 10_000] {
            let cost = Duration::from_millis(milliseconds);
            let rest = pace.after(cost);
            assert!(rest >= Duration::from_secs(1) && cost * PARTS <= rest + cost, "{cost:?}: {rest:?}");
        }
        assert_eq!(pace.after(Duration::MAX), Duration::MAX);
    }
}
