//! Aggregated captures against passes over all events.

use super::{events, relatives};
use crate::support::Made;
use analysis::{Cost, Profile, ProfileBuilder, Reason, Recorder, Timeline};
use capture::aggregate::AGGREGATE;
use capture::{Action, Event, FigureKind, NodeId, ProcessId, SumKind, Tables, ThreadId};
use export::aggregate::{Receiver, SnapshotTaker};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::convert::Infallible;

/// Takes down what it is told, with how many of all events were counted at each snapshot.
struct Notes {
    tables: Tables,
    counted: u64,
    events: Vec<Event>,
    /// How many events of either capture there were at each snapshot.
    snapshots: Vec<(u64, usize)>,
}

impl Receiver for Notes {
    type Error = Infallible;

    fn receive(&mut self, time: u64, process: ProcessId, action: Action) -> Result<(), Infallible> {
        let of_process = |thread: &capture::Thread| thread.process == process;
        let thread = self.tables.threads.iter().position(of_process).unwrap();
        self.events.push(Event { time, thread: ThreadId::from_index(thread), action });
        if action == Action::Snapshot {
            self.snapshots.push((self.counted, self.events.len()));
        }
        Ok(())
    }
}

fn aggregated(made: &Made, every: u64) -> Notes {
    let mut tables = made.tables.clone();
    tables.metadata.options.push((AGGREGATE.into(), every.to_string()));
    let mut notes = Notes { tables, counted: 0, events: Vec::new(), snapshots: Vec::new() };
    let mut builder = ProfileBuilder::new(&made.tables);
    let mut snapshot_taker = SnapshotTaker::new(every);
    for (before, event) in (0..).zip(&made.events) {
        notes.counted = before;
        snapshot_taker.event(&mut builder, event, &mut notes).unwrap();
    }
    notes.counted = made.events.len() as u64;
    snapshot_taker.finish(&mut builder, &mut notes).unwrap();
    notes
}

/// A pass that ends at a moment, of which it takes down either all or what was there.
fn cut(tables: &Tables, events: &[Event], at_moment: bool) -> Profile {
    let mut builder = ProfileBuilder::new(tables);
    builder.events(events);
    if at_moment {
        builder.hold_peak();
    }
    builder.cut().0
}

/// What no recording would tell.
fn strange() -> impl Strategy<Value = Action> {
    let number = || prop_oneof![0..5_u64, any::<u64>()];
    prop_oneof![
        6 => (prop::sample::select(&SumKind::ALL), 0..5_u32, number(), number())
            .prop_map(|(kind, node, blocks, bytes)| Action::Sum { kind, stack: NodeId(node), blocks, bytes }),
        2 => (prop::sample::select(&FigureKind::ALL), number()).prop_map(|(kind, value)| Action::Figure { kind, value }),
        2 => Just(Action::Snapshot),
        1 => (0..5_u32).prop_map(|process| Action::ProcessEnd { process: ProcessId(process) }),
        1 => (1..5_u64, number()).prop_map(|(address, size)| Action::Alloc { address, size, alignment: 0, stack: NodeId(1) }),
        1 => (1..5_u64).prop_map(|address| Action::Free { address, stack: NodeId::ROOT }),
    ]
}

/// By process, stack, and whether there was no such alignment: calls that returned no memory, and their bytes.
fn failures(profile: &Profile) -> BTreeMap<(u32, u32, bool), (u64, u64)> {
    let mut sums: BTreeMap<_, (u64, u64)> = BTreeMap::new();
    for row in &profile.failures {
        let sum = sums.entry((row.process.0, row.node.0, row.reason == Reason::Alignment)).or_default();
        *sum = (sum.0 + row.calls, sum.1 + row.bytes);
    }
    sums
}

fn costs(profile: &Profile) -> BTreeMap<(u32, u32), Cost> {
    let rows = profile.sites.iter().map(|site| ((site.process.0, site.node.0), site.cost));
    // A row of a stack whose blocks have no part in a range is there or not.
    rows.filter(|(_, cost)| *cost != Cost::default()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Check that at each snapshot of an aggregated capture every number of every stack and process is the one that the
    /// capture of all events has there, its peak and who held it included.
    #[test]
    fn snapshots_have_the_numbers_of_all_events(events in events(), every in 1..60_u64, at_moment: bool) {
        let made = Made { tables: relatives(), events, ..Made::default() };
        let notes = aggregated(&made, every);
        prop_assert!(!notes.snapshots.is_empty() || made.profile().sites.is_empty());
        for (all, told) in notes.snapshots {
            let expected = cut(&made.tables, &made.events[..usize::try_from(all).unwrap()], at_moment);
            let found = cut(&notes.tables, &notes.events[..told], at_moment);
            prop_assert_eq!(costs(&found), costs(&expected), "at {}", all);
            prop_assert_eq!(found.total, expected.total);
            prop_assert_eq!(found.peak.held, expected.peak.held);
            prop_assert_eq!(failures(&found), failures(&expected));
            for (found, expected) in found.processes.iter().zip(&expected.processes) {
                prop_assert_eq!(found.anomalies, expected.anomalies);
                prop_assert_eq!(found.gaps, expected.gaps);
                prop_assert_eq!(found.in_realloc, expected.in_realloc);
                prop_assert_eq!(found.peak.held, expected.peak.held);
                if !at_moment {
                    prop_assert_eq!(found.peak.at.time, expected.peak.at.time);
                }
            }
            if !at_moment {
                prop_assert_eq!(found.peak.at.time, expected.peak.at.time);
            }
        }
    }

    /// Check that heaps of the programs' own stand at the end of an aggregated capture where all events leave them, whoever still
    /// runs and whatever was lost.
    #[test]
    fn pools_are_those_of_all_events(events in events(), of_pools in prop::collection::vec(0..4_u32, 1..20)) {
        // Some of the blocks are those of one of two pools, in which the other events of their addresses mean nothing.
        let to_pool = |(place, mut event): (usize, Event)| {
            let pool = of_pools[place % of_pools.len()];
            let name = capture::StringId(pool);
            event.action = match event.action {
                Action::Alloc { address, size, stack, .. } if pool > 1 => {
                    Action::PoolAlloc { pool: name, address, size, stack }
                }
                Action::Free { address, .. } if pool > 1 => Action::PoolFree { pool: name, address },
                other => other,
            };
            event
        };
        let events: Vec<Event> = events.into_iter().enumerate().map(to_pool).collect();
        let made = Made { tables: relatives(), events, ..Made::default() };
        let mut builder = ProfileBuilder::new(&made.tables);
        builder.events(&made.events);
        let found = builder.pools_so_far();
        prop_assert_eq!(found, builder.cut().0.pools);
    }

    /// Check that any sums in any order have an answer: of the whole, of a moment, of a range, and for those who look on.
    #[test]
    fn strange_sums_have_an_answer(
        told in prop::collection::vec((any::<u16>(), 0..10_u32, strange()), 0..100),
        from: prop::sample::Index,
    ) {
        let mut tables = relatives();
        tables.metadata.options.push((AGGREGATE.into(), "1".into()));
        let event = |(time, thread, action)| Event { time: u64::from(time), thread: ThreadId(thread), action };
        let events: Vec<Event> = told.into_iter().map(event).collect();
        let from = from.index(events.len() + 1);
        cut(&tables, &events, true);
        let mut builder = ProfileBuilder::new(&tables);
        builder.events(&events[..from]);
        builder.begin_range();
        builder.events(&events[from..]);
        let range = builder.finish();
        prop_assert!(range.sites.len() <= events.len());
        let mut builder = ProfileBuilder::watched(&tables, Recorder::new(&tables));
        builder.events(&events);
        builder.finish_watched().1.finish();
        let mut builder = ProfileBuilder::watched(&tables, Timeline::new(10, None));
        builder.events(&events);
        prop_assert!(builder.finish_watched().1.ended(0).buckets.len() <= 10);
    }

    /// Check that between two snapshots what was allocated and freed is exact, and that what has grown is net.
    #[test]
    fn ranges_between_snapshots_are_net(events in events(), every in 1..60_u64, from: prop::sample::Index, to: prop::sample::Index) {
        let made = Made { tables: relatives(), events, ..Made::default() };
        let notes = aggregated(&made, every);
        prop_assume!(!notes.snapshots.is_empty());
        let (from, to) = (from.index(notes.snapshots.len()), to.index(notes.snapshots.len()));
        let ((all_from, told_from), (all_to, told_to)) = (notes.snapshots[from.min(to)], notes.snapshots[from.max(to)]);
        let range = |tables: &Tables, events: &[Event], from: usize, to: usize| {
            let mut builder = ProfileBuilder::new(tables);
            builder.events(&events[..from]);
            builder.begin_range();
            builder.events(&events[from..to]);
            builder.cut().0
        };
        let [all_from, all_to] = [all_from, all_to].map(|at| usize::try_from(at).unwrap());
        let (expected, found) = (
            costs(&range(&made.tables, &made.events, all_from, all_to)),
            costs(&range(&notes.tables, &notes.events, told_from, told_to)),
        );
        for (row, cost) in &expected {
            let found = found.get(row).copied().unwrap_or_default();
            prop_assert_eq!(found.allocated, cost.allocated);
            prop_assert_eq!(found.freed, cost.freed);
            prop_assert_eq!(found.temporary, cost.temporary);
            // Whose blocks were freed is not known: what has grown is no more than what of the range is there.
            prop_assert!(found.live().blocks <= cost.live().blocks && found.live().bytes <= cost.live().bytes);
            prop_assert!(found.live().blocks >= 0 && found.live().bytes >= 0);
        }
    }
}
