//! Up to which time records may be merged.
//!
//! ```text
//!   now − ε   whatever has an earlier time was written before the sweep began
//! ```
//!
//! Where the machine was suspended, its time stamp counter may begin anew. Records have no later times then than before, since times
//! of a ring never run backwards, and the clock would have to come there again, in hours or days, before they are merged. So all is
//! merged, ring by ring in order, and it is said that there are no times any more.

use crate::drained::EPSILON;

/// A clock that has gone back by so many shifted ticks, a tenth of a second or more, was set. It catches up with less.
const JUMP: u64 = 1 << 24;

/// What is known of the clock.
#[derive(Debug, Default)]
pub(crate) struct Watermark {
    /// Its latest reading.
    latest: u64,
    /// It was set back, and is not there again.
    is_back: bool,
}

/// Up to when records are merged, and whether the clock has just been set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) time: u64,
    pub(crate) has_jumped: bool,
}

impl Watermark {
    /// The clock says that it is now.
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

    /// Check that all is merged that was read while a clock that was set back is not there again, that this is told once, and that
    /// one that is a little behind is waited for.
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
