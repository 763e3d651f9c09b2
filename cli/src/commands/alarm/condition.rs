//! What raises an alarm.

use crate::values;
use collector::{TriggerMonitor, Triggers};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A condition on memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Condition {
    /// This many bytes are live.
    Over(u64),
    /// Live bytes have grown by this fraction since the last alarm.
    Growth(f64),
    /// A control group uses this fraction of what it may.
    Limit(f64),
}

/// What is known of a recording's memory at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Measured {
    /// Bytes live.
    pub(super) live: u64,
    /// Of the control group that is nearest to its limit, how much it cannot give back, and how much it may use.
    pub(super) group: Option<(u64, u64)>,
}

/// Sees when a condition becomes true.
#[derive(Debug)]
pub(super) struct Monitor {
    pub(super) condition: Condition,
    seen: TriggerMonitor,
}

/// Time between two looks, and the shortest time where memory may soon be at its limit.
pub(super) const PERIOD: Duration = Duration::from_millis(50);
const SHORTEST: Duration = Duration::from_millis(5);
/// Bytes that a program takes in a second if it does nothing else.
const FASTEST: f64 = (4_u64 << 30) as f64;

/// In which shares of limits are compared.
const PARTS: u64 = 1_000_000;

impl Monitor {
    pub(super) fn new(condition: Condition) -> Monitor {
        let triggers = match condition {
            Condition::Over(bytes) => Triggers { over: Some(bytes), ..Triggers::default() },
            Condition::Growth(share) => Triggers { growth: Some(share), ..Triggers::default() },
            Condition::Limit(share) => {
                Triggers { over: Some((share * PARTS as f64) as u64), ..Triggers::default() }
            }
        };
        Monitor { condition, seen: TriggerMonitor::new(triggers) }
    }

    /// True when the condition has just become true, so long after the beginning.
    pub(super) fn is_raised(&mut self, now: Duration, measured: &Measured) -> bool {
        let value = match (self.condition, measured.group) {
            (Condition::Limit(_), None) => return false,
            (Condition::Limit(_), Some((used, limit))) => {
                (u128::from(used) * u128::from(PARTS) / u128::from(limit.max(1))) as u64
            }
            _ => measured.live,
        };
        self.seen.due(now, value).is_some()
    }

    /// How long nothing can happen: with what is left until the alarm, however fast that is taken.
    pub(super) fn pause(&self, measured: &Measured) -> Duration {
        let (Condition::Limit(share), Some((used, limit))) = (self.condition, measured.group) else {
            return PERIOD;
        };
        let left = share * limit as f64 - used as f64;
        // Where it was raised there is no hurry any more.
        let pause = if left < 0.0 { PERIOD } else { Duration::from_secs_f64(left / FASTEST) };
        pause.clamp(SHORTEST, PERIOD)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| (share * 1000.0).round() / 10.0;
        match self {
            Condition::Over(bytes) => write!(f, "over={bytes}"),
            Condition::Growth(share) => write!(f, "growth={}%", percent(*share)),
            Condition::Limit(share) => write!(f, "limit={}%", percent(*share)),
        }
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Condition, String> {
        match text.split_once('=') {
            Some(("over", size)) => Ok(Condition::Over(values::size(size)? as u64)),
            Some(("growth", share)) => values::percent(share).map(Condition::Growth),
            Some(("limit", share)) => match values::percent(share)? {
                share if share <= 1.0 => Ok(Condition::Limit(share)),
                _ => Err("a limit is 100% at most".to_owned()),
            },
            _ => Err("expected over=SIZE, growth=SHARE or limit=SHARE, as in over=2G".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check how conditions are written, and that others are refused.
    #[test]
    fn conditions_are_read() {
        for (text, expected, written) in [
            ("over=2G", Condition::Over(2 << 30), "over=2147483648"),
            ("growth=20%", Condition::Growth(0.2), "growth=20%"),
            ("limit=92.5%", Condition::Limit(0.925), "limit=92.5%"),
        ] {
            assert_eq!(text.parse(), Ok(expected));
            assert_eq!(expected.to_string(), written);
        }
        for text in ["over", "over=x", "limit=101%", "growth=-1%", "under=1M", ""] {
            assert!(text.parse::<Condition>().is_err(), "{text}");
        }
    }

    /// Check that an alarm is raised when a group comes near its limit, once, and again after it had more room; and never
    /// for one without a limit.
    #[test]
    fn groups_near_their_limits_raise_alarms() {
        let mut monitor = Monitor::new(Condition::Limit(0.9));
        let mut raised = |used: u64| {
            let measured = Measured { live: 0, group: Some((used << 20, 100 << 20)) };
            monitor.is_raised(Duration::ZERO, &measured)
        };
        let course = [10, 89, 90, 95, 85, 95, 80, 91];
        assert_eq!(course.map(&mut raised), [false, false, true, false, false, false, false, true]);
        let without = Measured { live: u64::MAX, group: None };
        assert!(!Monitor::new(Condition::Limit(0.9)).is_raised(Duration::ZERO, &without));
        let over = Measured { live: 5, group: Some((0, 0)) };
        assert!(Monitor::new(Condition::Over(5)).is_raised(Duration::ZERO, &over));
    }

    /// Check that looks are frequent only while memory may be at its limit soon.
    #[test]
    fn looks_are_frequent_near_a_limit() {
        let pause = |condition: &str, used: u64, limit: u64| {
            let measured = Measured { live: 0, group: Some((used << 20, limit << 20)) };
            Monitor::new(condition.parse().unwrap()).pause(&measured).as_millis()
        };
        assert_eq!(pause("limit=90%", 800, 1000), 24);
        assert_eq!([10, 899, 901].map(|used| pause("limit=90%", used, 1000)), [50, 5, 50]);
        assert_eq!(pause("over=1M", 900, 1000), 50);
    }
}
