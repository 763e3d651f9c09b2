//! Disk requests between issue and completion, and who waits for them.
//!
//! ```text
//!  a: issue ├───────────┤ completion
//!  b:           ├──────────────┤
//!  at once    1 │   2   │  1   │       what the track shows
//!  blame      a │ a ½ b ½  b   │       an interval is split among the requests that are open in it
//! ```
//!
//! All requests that are open in an interval get the same share of it. So shares are added up once for all, and a
//! request that ends gets what the sum has grown by since its issue.

use super::tracks::Track;
use crate::base::cost::Amount;
use crate::timeline::buckets::Timeline;
use capture::{Hit, ProcessId, Tables, Tracepoint, TracepointId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Most requests that are kept open: some completions are lost.
const MOST_OPEN: usize = 1 << 16;

/// In nanoseconds; a request that stays open longer has lost its completion.
const LONGEST: u64 = 5_000_000_000;

/// The tracepoints that report requests.
#[derive(Clone, Copy, Debug)]
pub struct RequestPoints {
    issue: TracepointId,
    completion: TracepointId,
}

impl RequestPoints {
    /// The request tracepoints of a capture; none unless both were recorded, with a cookie, and system-wide: a
    /// request completes in whatever thread the processor happens to run.
    pub fn of(tables: &Tables) -> Option<Self> {
        let is_whole = tables.summary.as_ref().is_some_and(|summary| summary.cpu.is_system_wide);
        if is_whole { Self::among(&tables.tracepoints) } else { None }
    }

    fn among(tracepoints: &[Tracepoint]) -> Option<Self> {
        let place = |name: &str| {
            let found = tracepoints.iter().position(|point| point.name == name && !point.cookie.is_empty());
            found.map(TracepointId::from_index)
        };
        Some(Self { issue: place("block:block_rq_issue")?, completion: place("block:block_rq_complete")? })
    }
}

/// Tracks requests from their hits.
#[derive(Debug)]
pub struct Outstanding<'a> {
    points: RequestPoints,
    timeline: &'a Timeline,
    /// Open requests by cookie.
    open: HashMap<u64, Request>,
    /// Open requests by issue, oldest first: time and cookie.
    by_issue: BTreeSet<(u64, u64)>,
    since: u64,
    /// The sum of the shares of all intervals up to `since`, in nanoseconds.
    shares: u64,
    track: Track,
    waits: BTreeMap<Option<ProcessId>, u64>,
}

/// An open request.
#[derive(Clone, Copy, Debug)]
struct Request {
    process: Option<ProcessId>,
    issued: u64,
    /// The time that hits had reached at its issue.
    since: u64,
    /// The sum of shares at that time.
    shares: u64,
}

impl<'a> Outstanding<'a> {
    /// Without any request.
    pub fn new(points: RequestPoints, timeline: &'a Timeline) -> Self {
        let track = Track::new("disk requests at once", timeline);
        let (open, by_issue, waits) = Default::default();
        Self { points, timeline, open, by_issue, since: 0, shares: 0, track, waits }
    }

    /// Processes the next hit, of a process; hits of other tracepoints are ignored.
    // Cost: logarithmic in the open requests; each step of the timeline is visited once.
    pub fn add(&mut self, hit: &Hit, process: Option<ProcessId>) {
        if hit.tracepoint == self.points.issue {
            self.reach(hit.time);
            if self.open.len() < MOST_OPEN {
                // A request issued again before it ended was put back into its queue.
                self.end(hit.cookie);
                let (issued, since, shares) = (hit.time, self.since, self.shares);
                self.open.insert(hit.cookie, Request { process, issued, since, shares });
                self.by_issue.insert((issued, hit.cookie));
            }
        } else if hit.tracepoint == self.points.completion {
            self.reach(hit.time);
            self.end(hit.cookie);
        }
        self.note(hit.time);
    }

    /// The most requests that were open at once in each step, and the total of each process' shares in nanoseconds,
    /// longest first.
    pub fn finish(mut self) -> (Track, Vec<(Option<ProcessId>, u64)>) {
        while let Some(&(_, cookie)) = self.by_issue.first() {
            self.end(cookie);
        }
        let mut waits: Vec<_> = self.waits.into_iter().collect();
        waits.sort_by_key(|(process, time)| (std::cmp::Reverse(*time), *process));
        (self.track, waits)
    }

    /// Advances time: what is open stays open up to then.
    fn reach(&mut self, time: u64) {
        let passed = time.saturating_sub(self.since);
        if !self.open.is_empty() && passed > 0 {
            self.shares += passed / self.open.len() as u64;
            // Whatever is open is open in every step in between.
            let first = self.since.saturating_sub(self.timeline.start) / self.timeline.width.max(1);
            for step in first.. {
                let begins = self.timeline.start.saturating_add(step.saturating_mul(self.timeline.width));
                if begins >= time || step >= self.track.steps.len() as u64 {
                    break;
                }
                self.note(begins.saturating_add(1).max(self.since));
            }
        }
        self.since = self.since.max(time);
        while let Some(&(issued, cookie)) = self.by_issue.first()
            && time.saturating_sub(issued) > LONGEST
        {
            self.end(cookie);
        }
    }

    /// Ends a request, if it is open: its process has waited its share of the time since the issue.
    fn end(&mut self, cookie: u64) {
        let Some(request) = self.open.remove(&cookie) else { return };
        self.by_issue.remove(&(request.issued, cookie));
        if self.since > request.since {
            *self.waits.entry(request.process).or_default() += self.shares - request.shares;
        }
    }

    /// Raises the step at this time to the number of open requests.
    fn note(&mut self, time: u64) {
        let open = self.open.len() as i64;
        self.track.raise(self.timeline, time, Amount { blocks: open, bytes: 0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::watch::Instant;
    use proptest::prelude::*;

    fn points() -> RequestPoints {
        let point =
            |name: &str| Tracepoint { name: name.into(), cookie: "sector".into(), ..Tracepoint::default() };
        let all =
            [point("sched:sched_switch"), point("block:block_rq_complete"), point("block:block_rq_issue")];
        RequestPoints::among(&all).unwrap()
    }

    /// Check that both tracepoints must be present and the recording system-wide.
    #[test]
    fn both_ends_are_wanted() {
        let issue =
            Tracepoint { name: "block:block_rq_issue".into(), cookie: "sector".into(), ..Default::default() };
        assert!(RequestPoints::among(std::slice::from_ref(&issue)).is_none());
        let completion = Tracepoint { name: "block:block_rq_complete".into(), ..issue.clone() };
        let tables = Tables { tracepoints: vec![issue, completion], ..Tables::default() };
        assert!(RequestPoints::among(&tables.tracepoints).is_some() && RequestPoints::of(&tables).is_none());
    }

    /// Check the drawing: the number open at once, also in steps without a hit, and how intervals are split among the
    /// processes whose requests are open; a completion without a request and a request that never ends do no harm.
    #[test]
    fn intervals_are_split_among_open_requests() {
        let from = Instant::default();
        let timeline = Timeline::between(from, 100_000, 10, None, Amount::ZERO).ended(100_000);
        let mut requests = Outstanding::new(points(), &timeline);
        let [a, b] = [Some(ProcessId(0)), Some(ProcessId(1))];
        let (issue, completion, other) = (TracepointId(2), TracepointId(1), TracepointId(0));
        for (time, tracepoint, cookie, process) in [
            (5_000, completion, 99, a),
            (10_000, issue, 1, a),
            (12_000, other, 1, b),
            (30_000, issue, 2, b),
            (50_000, completion, 1, None),
            (90_000, completion, 2, a),
            (95_000, issue, 3, a),
        ] {
            requests.add(&Hit { time, tracepoint, cookie, ..Hit::default() }, process);
        }
        let (track, waits) = requests.finish();
        let at_once: Vec<i64> = track.steps.iter().map(|step| step.blocks).collect();
        assert_eq!(at_once, [1, 1, 2, 2, 2, 1, 1, 1, 1, 1]);
        assert_eq!(waits, [(b, 50_000), (a, 30_000)]);
    }

    /// Computes open requests and waits by visiting all open requests each time.
    #[derive(Default)]
    struct Naive {
        open: BTreeMap<u64, (Option<ProcessId>, u64)>,
        since: u64,
        waits: BTreeMap<Option<ProcessId>, u64>,
    }

    impl Naive {
        fn add(&mut self, hit: &Hit, process: Option<ProcessId>) {
            let passed = hit.time.saturating_sub(self.since);
            if passed > 0 {
                for (process, _) in self.open.values() {
                    *self.waits.entry(*process).or_default() += passed / self.open.len() as u64;
                }
            }
            self.open.retain(|_, (_, issued)| hit.time.saturating_sub(*issued) <= LONGEST);
            self.since = self.since.max(hit.time);
            self.open.remove(&hit.cookie);
            if hit.tracepoint == points().issue {
                self.open.insert(hit.cookie, (process, hit.time));
            }
        }
    }

    proptest! {
        /// Check that waits equal those found by visiting all open requests each time: with requests that are issued
        /// again, never end, or come in any order.
        #[test]
        fn waits_are_those_of_all_that_is_open(hits in prop::collection::vec((0..20u64, 0..4u64, 0..3u32, any::<bool>()), 0..60)) {
            let from = Instant::default();
            let timeline = Timeline::between(from, 10 * LONGEST, 10, None, Amount::ZERO).ended(10 * LONGEST);
            let (mut requests, mut naive) = (Outstanding::new(points(), &timeline), Naive::default());
            let mut time = 0;
            for (step, cookie, process, is_issue) in hits {
                // Some are a little late.
                time = if step == 0 { time - time.min(7) } else { time + step * LONGEST / 16 };
                let tracepoint = if is_issue { points().issue } else { points().completion };
                let hit = Hit { time, tracepoint, cookie, ..Hit::default() };
                let process = (process > 0).then_some(ProcessId(process));
                requests.add(&hit, process);
                naive.add(&hit, process);
                prop_assert_eq!(requests.open.len(), naive.open.len());
            }
            let found: BTreeMap<_, _> = requests.finish().1.into_iter().collect();
            prop_assert_eq!(found, naive.waits);
        }
    }

    /// Check that many requests open at once cost no more per hit than a few.
    #[test]
    fn many_open_requests_cost_little() {
        let from = Instant::default();
        let timeline = Timeline::between(from, LONGEST, 10, None, Amount::ZERO).ended(LONGEST);
        let mut requests = Outstanding::new(points(), &timeline);
        let issue = |cookie: u64| {
            let (time, tracepoint) = (cookie + 1, points().issue);
            Hit { time, tracepoint, cookie, ..Hit::default() }
        };
        let hits = 10 * MOST_OPEN as u64;
        (0..hits).for_each(|cookie| requests.add(&issue(cookie), Some(ProcessId(1))));
        assert_eq!(requests.open.len(), MOST_OPEN);
        assert_eq!(requests.finish().0.steps.first().map(|step| step.blocks), Some(MOST_OPEN as i64));
    }
}
