//! What happens apart from the heap, in the steps of a timeline: processor activity.

use crate::base::cost::Amount;
use crate::timeline::buckets::Timeline;

/// All tracks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrackSet {
    /// What is drawn.
    pub tracks: Vec<Track>,
}

/// One track.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Track {
    /// What it shows.
    pub name: String,
    /// By step, how often it happened, and the amount that this stands for.
    pub steps: Vec<Amount>,
    /// The upper end of its scale; none: the maximum over all steps.
    pub top: Option<i64>,
}

impl Track {
    /// An empty track with as many steps as a timeline.
    pub fn new(name: impl Into<String>, timeline: &Timeline) -> Self {
        Self { name: name.into(), steps: vec![Amount::ZERO; timeline.buckets.len()], top: None }
    }

    /// Adds what happened at a time. Times outside of the timeline are ignored.
    pub fn add(&mut self, timeline: &Timeline, time: u64, amount: Amount) {
        if let Some(step) = self.step(timeline, time) {
            *step += amount;
        }
    }

    fn step(&mut self, timeline: &Timeline, time: u64) -> Option<&mut Amount> {
        // A step includes its end and excludes its beginning, except for the first.
        let since = time.checked_sub(timeline.start)?.saturating_sub(1);
        self.steps.get_mut(usize::try_from(since / timeline.width.max(1)).ok()?)
    }

    /// True when nothing happened.
    pub fn is_empty(&self) -> bool {
        self.steps.iter().all(|step| step.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::watch::Instant;

    /// Check that each time is in the step that contains it, as for the events of the heap, and that times outside
    /// are in none.
    #[test]
    fn times_lie_in_their_steps() {
        let from = Instant::after(0, 10_000);
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
