//! How long to wait after a failure: longer after each, and never as long as others who failed at the same time.

use std::time::Duration;

/// The first wait, and the longest.
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(60);
/// The longest that a receiver may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(600);

/// The wait after so many failures in a row; `random` chooses within its second half. A receiver that has asked for
/// a longer one gets it.
pub(super) fn wait(failures: u32, random: u64, asked: Option<Duration>) -> Duration {
    let whole = FIRST.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(LONGEST);
    let half = whole / 2;
    let part = half.mul_f64(random as f64 / u64::MAX as f64);
    asked.unwrap_or_default().min(LONGEST_ASKED).max(half + part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that waits double up to a bound, differ by half, and heed what a receiver asks for, within reason.
    #[test]
    fn waits_are_bounded() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        for (failures, random, asked, expected) in [
            (1, 0, None, 250),
            (1, u64::MAX, None, 500),
            (2, u64::MAX, None, 1_000),
            (4, u64::MAX, None, 4_000),
            (30, 0, None, 30_000),
            (u32::MAX, u64::MAX, None, 60_000),
            (1, 0, seconds(7), 7_000),
            (9, u64::MAX, seconds(7), 60_000),
            (1, 0, seconds(u64::MAX), 600_000),
        ] {
            assert_eq!(wait(failures, random, asked).as_millis(), expected, "{failures} {random} {asked:?}");
        }
    }
}
