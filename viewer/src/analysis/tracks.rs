//! What happens beside the heap, in the steps of a timeline: work of the processors, and each tracepoint.

use super::cost::Amount;
use super::timeline::Timeline;

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Track {
    /// What it shows.
    pub name: String,
    /// By step, how often it came and what that stands for.
    pub steps: Vec<Amount>,
}

impl Track {
    /// An empty one with as many steps as a timeline.
    pub fn new(name: impl Into<String>, timeline: &Timeline) -> Self {
        Self { name: name.into(), steps: vec![Amount::ZERO; timeline.buckets.len()] }
    }

    /// Adds what came at a time. What lies outside of the timeline counts for none of its steps.
    pub fn add(&mut self, timeline: &Timeline, time: u64, amount: Amount) {
        // A step takes its end in and leaves its beginning out, but for the first.
        let Some(since) = time.checked_sub(timeline.start) else { return };
        let place = usize::try_from(since.saturating_sub(1) / timeline.width.max(1)).unwrap_or(usize::MAX);
        if let Some(step) = self.steps.get_mut(place) {
            *step += amount;
        }
    }

    /// True when nothing came.
    pub fn is_empty(&self) -> bool {
        self.steps.iter().all(|step| step.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::super::watch::Instant;
    use super::*;

    /// Check that each time lies in the step that takes it in, as the events of the heap do, and others in none.
    #[test]
    fn times_lie_in_their_steps() {
        let from = Instant { position: 0, time: 10_000 };
        let timeline = Timeline::between(from, 40_000, 3, None, Amount::ZERO).ended(40_000);
        assert_eq!((timeline.width, timeline.buckets.len()), (10_000, 3));
        let mut track = Track::new("t", &timeline);
        for time in [9_999, 10_000, 10_001, 20_000, 20_001, 40_000, 40_001, u64::MAX] {
            track.add(&timeline, time, Amount::block(1));
        }
        let counts: Vec<i64> = track.steps.iter().map(|step| step.blocks).collect();
        assert_eq!(counts, [3, 1, 1]);
    }
}
