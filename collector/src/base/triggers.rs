//! When snapshots are marked automatically.

use std::time::Duration;

/// Live bytes below which growth does not count: when a program starts, every growth rate is high.
const SMALL: u64 = 1 << 20;

/// Reasons to mark a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Triggers {
    /// This much time has passed since the last snapshot.
    pub every: Option<Duration>,
    /// This many bytes are live; again once they have fallen by a tenth in between.
    pub over: Option<u64>,
    /// Live bytes have grown by this fraction since the last snapshot.
    pub growth: Option<f64>,
}

/// Watches for triggers.
#[derive(Debug)]
pub struct TriggerMonitor {
    triggers: Triggers,
    /// Snapshots so far.
    count: u32,
    /// Time of the last snapshot, and live bytes then.
    last: (Duration, u64),
    is_over: bool,
}

impl TriggerMonitor {
    /// Nothing has been seen yet.
    pub fn new(triggers: Triggers) -> TriggerMonitor {
        TriggerMonitor { triggers, count: 0, last: (Duration::ZERO, 0), is_over: false }
    }

    /// The name of the snapshot due `now`, a time since the recording began, with `live` bytes live.
    pub fn due(&mut self, now: Duration, live: u64) -> Option<String> {
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
        let mut monitor = TriggerMonitor::new(triggers);
        let due = |&(second, mib): &(u64, u64)| {
            Some((second, monitor.due(Duration::from_secs(second), mib << 20)?))
        };
        course.iter().filter_map(due).collect()
    }

    fn seconds(triggers: Triggers, course: &[(u64, u64)]) -> Vec<u64> {
        named(triggers, course).into_iter().map(|(second, _)| second).collect()
    }

    /// Check that each trigger fires when its condition begins, once, and that snapshots are numbered.
    #[test]
    fn occasions_are_seen_once() {
        let course = [(0, 0), (1, 10), (2, 11), (3, 12), (4, 20), (5, 19), (6, 17), (7, 21), (8, 30)];
        let every = Triggers { every: Some(Duration::from_secs(3)), ..Triggers::default() };
        assert_eq!(named(every, &course), [(3, "snapshot 1".into()), (6, "snapshot 2".into())]);
        let over = Triggers { over: Some(20 << 20), ..Triggers::default() };
        // 19 MiB is not a tenth less, 17 is.
        assert_eq!(seconds(over, &course), [4, 7]);
        let growth = Triggers { growth: Some(0.2), ..Triggers::default() };
        assert_eq!(seconds(growth, &course), [1, 3, 4, 8]);
        assert_eq!(seconds(Triggers::default(), &course), []);
    }

    /// Check that a snapshot resets all triggers: what was just marked needs no second mark.
    #[test]
    fn one_snapshot_serves_all_occasions() {
        let both = Triggers { every: Some(Duration::from_secs(3)), growth: Some(1.0), ..Triggers::default() };
        assert_eq!(seconds(both, &[(2, 8), (3, 8), (4, 9), (5, 16), (7, 16), (8, 16)]), [2, 5, 8]);
    }
}
