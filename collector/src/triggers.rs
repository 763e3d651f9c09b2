//! When snapshots are marked without anybody asking.

use std::time::Duration;

/// Live bytes below which growth does not count: every program grows by any share when it begins.
const SMALL: u64 = 1 << 20;

/// What is a reason to mark a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Triggers {
    /// So much time has passed since the last one.
    pub every: Option<Duration>,
    /// So many bytes are live; again once there have been a tenth less.
    pub over: Option<u64>,
    /// More bytes are live than at the last one, by this share of them.
    pub growth: Option<f64>,
}

impl Triggers {
    /// Whether the live bytes have to be known.
    pub(crate) fn need_live(self) -> bool {
        self.over.is_some() || self.growth.is_some()
    }
}

/// Looks for occasions.
#[derive(Debug)]
pub(crate) struct Lookout {
    triggers: Triggers,
    /// Snapshots so far.
    count: u32,
    /// When the last one was, and what was live then.
    last: (Duration, u64),
    is_over: bool,
}

impl Lookout {
    pub(crate) fn new(triggers: Triggers) -> Lookout {
        Lookout { triggers, count: 0, last: (Duration::ZERO, 0), is_over: false }
    }

    /// The name of the snapshot that is due `now`, a time since the recording began, with so many bytes live.
    pub(crate) fn due(&mut self, now: Duration, live: u64) -> Option<String> {
        let Triggers { every, over, growth } = self.triggers;
        let (time, before) = self.last;
        let is_time = every.is_some_and(|every| now.saturating_sub(time) >= every);
        let base = before.max(SMALL) as f64;
        let has_grown = growth.is_some_and(|growth| live as f64 >= base * (1.0 + growth));
        let is_over = over.is_some_and(|over| live >= if self.is_over { over - over / 10 } else { over });
        let was_over = std::mem::replace(&mut self.is_over, is_over);
        if !(is_time || has_grown || is_over && !was_over) {
            return None;
        }
        self.last = (now, live);
        self.count += 1;
        Some(format!("snapshot {}", self.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(triggers: Triggers, course: &[(u64, u64)]) -> Vec<(u64, String)> {
        let mut lookout = Lookout::new(triggers);
        let due = |&(second, mib): &(u64, u64)| {
            Some((second, lookout.due(Duration::from_secs(second), mib << 20)?))
        };
        course.iter().filter_map(due).collect()
    }

    fn seconds(triggers: Triggers, course: &[(u64, u64)]) -> Vec<u64> {
        named(triggers, course).into_iter().map(|(second, _)| second).collect()
    }

    /// Check that each occasion is seen when it comes, once, and that snapshots are numbered.
    #[test]
    fn occasions_are_seen_once() {
        let course = [(0, 0), (1, 10), (2, 11), (3, 12), (4, 20), (5, 19), (6, 17), (7, 21), (8, 30)];
        let every = Triggers { every: Some(Duration::from_secs(3)), ..Triggers::default() };
        assert_eq!(named(every, &course), [(3, "snapshot 1".into()), (6, "snapshot 2".into())]);
        let over = Triggers { over: Some(20 << 20), ..Triggers::default() };
        // 19 MiB is no tenth less, 17 is.
        assert_eq!(seconds(over, &course), [4, 7]);
        let growth = Triggers { growth: Some(0.2), ..Triggers::default() };
        assert_eq!(seconds(growth, &course), [1, 3, 4, 8]);
        assert_eq!(seconds(Triggers::default(), &course), []);
    }

    /// Check that an occasion resets the others: what was just marked needs no second mark.
    #[test]
    fn one_snapshot_serves_all_occasions() {
        let both = Triggers { every: Some(Duration::from_secs(3)), growth: Some(1.0), ..Triggers::default() };
        assert_eq!(seconds(both, &[(2, 8), (3, 8), (4, 9), (5, 16), (7, 16), (8, 16)]), [2, 5, 8]);
    }
}
