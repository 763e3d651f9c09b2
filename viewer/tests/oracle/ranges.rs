//! Moments and ranges against a replay that marks every block.

use super::{Made, check_failures, events, family, naive};
use analysis::{Amount, Cost, Profile, ProfileBuilder};
use capture::{Action, Event, Tables};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// What a capture says that ends after these events: nothing of later ends.
fn tables_of(events: &[Event]) -> Tables {
    let mut tables = family();
    let ended = |process| {
        let end =
            |event: &Event| matches!(event.action, Action::ProcessEnd { process: other } if other == process);
        events.iter().any(end)
    };
    for (index, row) in tables.processes.iter_mut().enumerate() {
        row.end = row.end.take().filter(|_| ended(capture::ProcessId::from_index(index)));
    }
    tables
}

/// The rows with a cost.
fn costs(profile: &Profile) -> BTreeMap<(u32, u32), Cost> {
    let rows = profile.sites.iter().map(|site| ((site.process.0, site.node.0), site.cost));
    rows.filter(|(_, cost)| *cost != Cost::default()).collect()
}

fn with_cost(mut costs: BTreeMap<(u32, u32), Cost>) -> BTreeMap<(u32, u32), Cost> {
    costs.retain(|_, cost| *cost != Cost::default());
    costs
}

fn range(made: &Made, from: usize, to: usize) -> Profile {
    let mut builder = ProfileBuilder::new(&made.tables);
    builder.events(&made.events[..from]);
    builder.begin_range();
    builder.events(&made.events[from..to]);
    builder.cut().0
}

fn moment(made: &Made, at: usize) -> Profile {
    let mut builder = ProfileBuilder::new(&made.tables);
    builder.events(&made.events[..at]);
    builder.hold_peak();
    builder.cut().0
}

/// Two places among the events, in order.
fn cuts() -> impl Strategy<Value = (Vec<Event>, usize, usize)> {
    (events(), any::<prop::sample::Index>(), any::<prop::sample::Index>()).prop_map(|(events, one, two)| {
        let (one, two) = (one.index(events.len() + 1), two.index(events.len() + 1));
        (events, one.min(two), one.max(two))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Check that what was live and held at any moment is that of the slow replay of a capture which ends there.
    #[test]
    fn moments_are_those_of_shorter_captures((events, at, _) in cuts()) {
        let (naive, held) = naive::replay_range(&tables_of(&events[..at]), &events[..at], 0);
        let profile = moment(&Made { tables: family(), events, ..Made::default() }, at);
        let mut expected = naive.costs;
        expected.iter_mut().for_each(|(site, cost)| cost.peak = held.get(site).copied().unwrap_or_default());
        prop_assert_eq!(costs(&profile), with_cost(expected));
        check_failures(&profile, &naive.failures)?;
        let held = held.values().fold(Amount::ZERO, |sum, held| sum + *held);
        prop_assert_eq!((profile.peak.held, profile.total.peak), (held, held));
        for (index, process) in profile.processes.iter().enumerate() {
            prop_assert_eq!(process.anomalies, naive.anomalies[index], "process {}", index);
            prop_assert_eq!(process.in_realloc, naive.in_realloc[index], "process {}", index);
        }
    }

    /// Check that every number of a range is that of the slow replay.
    #[test]
    fn ranges_are_those_of_the_slow_replay((events, from, to) in cuts()) {
        let (naive, _) = naive::replay_range(&tables_of(&events[..to]), &events[..to], from);
        let profile = range(&Made { tables: family(), events, ..Made::default() }, from, to);
        check_failures(&profile, &naive.failures)?;
        prop_assert_eq!(costs(&profile), with_cost(naive.costs));
        prop_assert_eq!((profile.peak.held, profile.peak.at.time), naive.peak);
        prop_assert_eq!(profile.stray_events, naive.strays);
        for (index, process) in profile.processes.iter().enumerate() {
            prop_assert_eq!(process.anomalies, naive.anomalies[index], "process {}", index);
            prop_assert_eq!(process.in_realloc, naive.in_realloc[index], "process {}", index);
            prop_assert_eq!((process.peak.held, process.peak.at.time), naive.process_peaks[index], "process {}", index);
        }
    }

    /// Check that the peak, within a `realloc`, too, is a moment with the same blocks row by row, and that the flows up to it and
    /// from it on add up to those of the whole.
    #[test]
    fn peaks_are_moments(events in events()) {
        let made = Made { tables: family(), events, ..Made::default() };
        let whole = made.profile();
        let (first, rest) = made.events.split_at(whole.peak.at.whole_events() as usize);
        let (within, rest) = rest.split_at(whole.peak.at.position as usize - first.len());
        let up_to_peak = || {
            let mut builder = ProfileBuilder::new(&made.tables);
            builder.events(first);
            builder.up_to_copy(|builder| builder.events(within));
            builder
        };
        let mut builder = up_to_peak();
        builder.hold_peak();
        let before = builder.cut().0;
        let peaks = |profile: &Profile| -> BTreeMap<_, _> {
            costs(profile).into_iter().map(|(site, cost)| (site, cost.peak)).filter(|(_, peak)| !peak.is_zero()).collect()
        };
        prop_assert_eq!(peaks(&before), peaks(&whole));
        prop_assert_eq!(before.peak.held, whole.peak.held);
        let mut builder = up_to_peak();
        builder.begin_range();
        builder.copied();
        builder.events(rest);
        let after = builder.finish();
        let flows = |cost: &Cost| [cost.allocated, cost.freed, cost.temporary, cost.frees];
        let mut sums: BTreeMap<(u32, u32), [Amount; 4]> = BTreeMap::new();
        for (site, cost) in [&before, &after].into_iter().flat_map(costs) {
            let sum = sums.entry(site).or_default();
            sum.iter_mut().zip(flows(&cost)).for_each(|(sum, flow)| *sum += flow);
        }
        sums.retain(|_, flows| *flows != [Amount::ZERO; 4]);
        let mut expected: BTreeMap<_, _> = costs(&whole).iter().map(|(site, cost)| (*site, flows(cost))).collect();
        expected.retain(|_, flows| *flows != [Amount::ZERO; 4]);
        prop_assert_eq!(sums, expected);
    }

    /// Check that the flows of parts add up to those of the whole, row by row, and that the highest of their peaks is
    /// the peak.
    #[test]
    fn parts_add_up_to_the_whole((events, one, two) in cuts()) {
        let made = Made { tables: family(), events, ..Made::default() };
        let end = made.events.len();
        let whole = made.profile();
        let parts = [range(&made, 0, one), range(&made, one, two), range(&made, two, end)];
        let mut sums: BTreeMap<(u32, u32), [Amount; 4]> = BTreeMap::new();
        let flows = |cost: &Cost| [cost.allocated, cost.freed, cost.temporary, cost.frees];
        for (site, cost) in parts.iter().flat_map(costs) {
            let sum = sums.entry(site).or_default();
            sum.iter_mut().zip(flows(&cost)).for_each(|(sum, flow)| *sum += flow);
        }
        let expected: BTreeMap<_, _> = costs(&whole).iter().map(|(site, cost)| (*site, flows(cost))).collect();
        sums.retain(|_, flows| *flows != [Amount::ZERO; 4]);
        prop_assert_eq!(sums, expected);
        let highest = parts.iter().map(|part| part.peak.held.bytes).max();
        prop_assert_eq!(highest, Some(whole.peak.held.bytes));
        prop_assert_eq!(parts.iter().map(|part| part.events).sum::<u64>(), whole.events);
    }

    /// Check that blocks which do not pass a test are followed and not counted: rows by size and thread add up to the
    /// whole.
    #[test]
    fn tested_blocks_and_the_others_add_up(events in events(), limit in 0..60_u64) {
        let made = Made { tables: family(), events, ..Made::default() };
        let only = |small: bool| {
            let test = move |birth: &analysis::Birth| small == (birth.size < limit && birth.thread.0.is_multiple_of(2));
            let mut builder = ProfileBuilder::new(&made.tables).only(test);
            builder.events(&made.events);
            builder.finish()
        };
        let (some, others, whole) = (only(true), only(false), made.profile());
        let mut sums = costs(&some);
        costs(&others).iter().for_each(|(site, cost)| *sums.entry(*site).or_default() += *cost);
        prop_assert_eq!(sums, costs(&whole));
        prop_assert_eq!(some.peak.held + others.peak.held, whole.peak.held);
        prop_assert_eq!((some.peak.at.time, some.events), (whole.peak.at.time, whole.events));
    }
}
