//! The time up to which records may be merged.
//!
//! ```text
//!   now − ε   whatever has an earlier time was written before the sweep began
//! ```
//!
//! After a suspend the machine's time stamp counter may start anew. Times within a ring never run backwards, so
//! further records keep the ring's last time, and the watermark would reach that only in hours or days. So everything
//! is merged at once, ring by ring in order, and the capture says that its times are no longer meaningful.

use crate::base::clock::EPSILON;

/// A clock set back by this many shifted ticks, a tenth of a second or more, counts as reset; smaller steps are
/// waited out.
const JUMP: u64 = 1 << 24;

/// State of the clock.
#[derive(Debug, Default)]
pub(crate) struct Watermark {
    /// The latest reading.
    latest: u64,
    /// The clock was set back, and has not caught up.
    is_back: bool,
}

/// The time up to which to merge, and whether the clock was just set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) time: u64,
    pub(crate) has_jumped: bool,
}

impl Watermark {
    /// Takes a reading of the clock.
    pub(crate) fn at(&mut self, now: u64) -> Due {
        let was_back = self.is_back;
        self.is_back = now.saturating_add(JUMP) < self.latest || was_back && now < self.latest;
        if self.is_back {
            return Due { time: u64::MAX, has_jumped: !was_back };
        }
        self.latest = self.latest.max(now);
        Due { time: now.saturating_sub(EPSILON), has_jumped: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that while a clock that was set back has not caught up everything read is merged, that this is reported
    /// once, and that a clock slightly behind is waited for.
    #[test]
    fn clock_that_jumps_back_holds_nothing_up() {
        let mut watermark = Watermark::default();
        let late = 10 * JUMP;
        for (now, time, has_jumped) in [
            (0, 0, false),
            (late, late - EPSILON, false),
            (late - JUMP, late - JUMP - EPSILON, false),
            (5, u64::MAX, true),
            (late - 1, u64::MAX, false),
            (late, late - EPSILON, false),
            (late + 7, late + 7 - EPSILON, false),
            (0, u64::MAX, true),
        ] {
            assert_eq!(watermark.at(now), Due { time, has_jumped }, "{now}");
        }
    }
}
