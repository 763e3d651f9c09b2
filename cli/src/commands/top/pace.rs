//! How often numbers are updated.

use std::time::Duration;

/// Readings take at most one part in this many of the time, so that looking at a busy process does not slow it down.
const PARTS: u32 = 20;

/// Waits as long as the user wants, or longer if readings are costly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    delay: Duration,
}

impl Pace {
    /// Keeps at least `delay` between two readings.
    pub(super) fn new(delay: Duration) -> Self {
        Self { delay }
    }

    /// The wait from the end of a reading that took `cost` to the next one.
    pub(super) fn after(self, cost: Duration) -> Duration {
        self.delay.saturating_add(cost.saturating_mul(PARTS - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that cheap readings come as often as wanted, and that costly ones take a twentieth of the time.
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
