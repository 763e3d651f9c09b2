//! The streaming pass against a replay that does everything the slow way.

mod aggregated;
mod kept;
mod lifetimes;
mod looks;
mod naive;
mod ranges;

use crate::support::Made;
use analysis::{Cost, Profile, ProfileBuilder, Reason};
use capture::{
    Action, Ended, Event, FREE_STACKS, NodeId, Process, ProcessEnd, ProcessId, ReallocOutcome, Tables,
    ThreadId,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A family whose frees have stacks.
fn family() -> Tables {
    let mut tables = relatives();
    tables.metadata.options.push((FREE_STACKS.into(), true.to_string()));
    tables
}

/// Two threads in each of: a root, two children that it forks, a child of the first child, and what the first
/// child executes.
fn relatives() -> Tables {
    let mut made = Made::new();
    for name in ["main > f", "main > g", "main > f > h"] {
        made.stack(name);
    }
    let forked =
        |parent: u32| Process { parent: Some(ProcessId(parent)), forked: true, ..Process::default() };
    let end = |ended| Some(ProcessEnd { ended, time: 0 });
    for row in [
        Process { end: end(Ended::Exited(0)), ..Process::default() },
        Process { end: end(Ended::Exec), ..forked(0) },
        Process { end: end(Ended::Signaled(9)), ..forked(0) },
        Process { end: None, ..forked(1) },
        Process { parent: Some(ProcessId(1)), image: 1, ..Process::default() },
    ] {
        let (process, _) = made.process_row(row);
        made.thread(process);
    }
    made.tables
}

fn outcome() -> impl Strategy<Value = ReallocOutcome> {
    prop_oneof![
        6 => (address(), size(), node()).prop_map(|(address, size, stack)| ReallocOutcome::Block { address, size, stack }),
        1 => Just(ReallocOutcome::Failed),
        1 => Just(ReallocOutcome::Freed),
    ]
}

fn address() -> impl Strategy<Value = u64> {
    (1..12_u64).prop_map(|block| block * 16)
}

fn size() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 1..100_u64, 1 => Just(0_u64)]
}

fn node() -> impl Strategy<Value = NodeId> {
    (0..5_u32).prop_map(NodeId)
}

fn action() -> impl Strategy<Value = Action> {
    let process = || (0..5_u32).prop_map(ProcessId);
    prop_oneof![
        40 => (address(), size(), node()).prop_map(|(address, size, stack)| Action::Alloc { address, size, alignment: 0, stack }),
        40 => (address(), node()).prop_map(|(address, stack)| Action::Free { address, stack }),
        12 => (address(), 0..3_u16).prop_map(|(address, serial)| Action::ReallocBegin { address, serial }),
        14 => (0..3_u16, outcome()).prop_map(|(serial, outcome)| Action::ReallocEnd { serial, outcome }),
        4 => (process(), 0..4_u32).prop_map(|(process, fork)| Action::ProcessStart { process, fork }),
        4 => (1..4_u32).prop_map(|fork| Action::Fork { fork }),
        1 => process().prop_map(|process| Action::ProcessEnd { process }),
        3 => (size(), prop::sample::select(vec![0_u32, 12, 22]), node())
            .prop_map(|(size, error, stack)| Action::AllocFailed { size, factors: None, alignment: 3, error, stack }),
        1 => Just(Action::GapBegin),
        1 => Just(Action::GapEnd { allocations: 1, frees: 2 }),
        1 => Just(Action::ThreadStart),
        1 => Just(Action::ThreadEnd),
    ]
}

/// Compares the rows of calls that returned no memory with all these calls.
fn check_failures(profile: &Profile, expected: &naive::Failures) -> Result<(), TestCaseError> {
    prop_assert_eq!(profile.failures.len(), expected.len());
    let number = |reason| match reason {
        Reason::NoMemory => 12,
        Reason::Alignment => 22,
        _ => 0,
    };
    for row in &profile.failures {
        let calls = &expected[&(row.process.0, row.node.0, number(row.reason))];
        let sizes = || calls.iter().map(|(size, ..)| *size);
        let mut threads: Vec<u32> = Vec::new();
        calls.iter().for_each(|(_, thread, ..)| {
            if !threads.contains(thread) {
                threads.push(*thread)
            }
        });
        let (first, last) = (calls[0], calls[calls.len() - 1]);
        prop_assert_eq!((row.calls, row.bytes), (calls.len() as u64, sizes().sum::<u64>()));
        prop_assert_eq!(row.sizes, sizes().min().zip(sizes().max()));
        prop_assert_eq!(row.threads.iter().map(|thread| thread.0).collect::<Vec<_>>(), threads);
        prop_assert_eq!((row.first.time, row.held_first), (first.2, first.3));
        prop_assert_eq!((row.last.time, row.held_last), (last.2, last.3));
    }
    Ok(())
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let calls = prop::collection::vec((0..10_u32, action()), 0..300);
    calls.prop_map(|calls| {
        let number = |(index, (thread, action))| Event { time: index, thread: ThreadId(thread), action };
        (0_u64..).zip(calls).map(number).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Check that every number of every stack and process is that of the slow replay.
    #[test]
    fn every_number_is_that_of_the_slow_replay(events in events()) {
        let made = Made { tables: family(), events, ..Made::default() };
        let profile = made.profile();
        let naive = naive::replay(&made.tables, &made.events);

        let costs: BTreeMap<(u32, u32), Cost> =
            profile.sites.iter().map(|site| ((site.process.0, site.node.0), site.cost)).collect();
        prop_assert_eq!(costs, naive.costs);
        prop_assert_eq!((profile.peak.held, profile.peak.at.time), naive.peak);
        prop_assert_eq!(profile.stray_events, naive.strays);
        check_failures(&profile, &naive.failures)?;
        for (index, process) in profile.processes.iter().enumerate() {
            prop_assert_eq!(process.anomalies, naive.anomalies[index], "process {}", index);
            prop_assert_eq!(process.in_realloc, naive.in_realloc[index], "process {}", index);
            let (held, time) = naive.process_peaks[index];
            prop_assert_eq!((process.peak.held, process.peak.at.time), (held, time), "process {}", index);
        }
    }

    /// Check that the sums agree with each other: sites, processes and the capture, the parts of the peak, and
    /// what became of every block.
    #[test]
    fn sums_agree(events in events()) {
        let made = Made { tables: family(), events, ..Made::default() };
        let profile = made.profile();
        let mut of_processes = Cost::default();
        for process in &profile.processes {
            of_processes += process.cost;
        }
        prop_assert_eq!(of_processes, profile.total);
        prop_assert_eq!(profile.total.peak, profile.peak.held);
        let anomalies = profile.anomalies();
        let vanished = i64::try_from(anomalies.lost_frees + anomalies.conflicts).unwrap();
        let ends = profile.total.freed.blocks + profile.total.live().blocks + vanished;
        prop_assert_eq!(profile.total.allocated.blocks, ends);
        prop_assert!(profile.total.temporary.blocks <= profile.total.freed.blocks);
        prop_assert_eq!(profile.total.frees, profile.total.freed);
    }

    /// Check that an observer is told of every birth and every death, and gets back what it kept: sums taken from
    /// them are those of the profile.
    #[test]
    fn births_and_deaths_add_up(events in events()) {
        let made = Made { tables: family(), events, ..Made::default() };
        let mut builder = ProfileBuilder::watched(&made.tables, lifetimes::Lifetimes::default());
        builder.events(&made.events);
        let (profile, lifetimes) = builder.finish_watched();
        prop_assert!(lifetimes.confused.is_empty(), "{:#?}", lifetimes.confused);
        prop_assert_eq!(lifetimes.immortal(), 0);
        prop_assert_eq!(lifetimes.events, profile.events);
        prop_assert_eq!(lifetimes.resized, lifetimes.outgrown);
        let anomalies = profile.anomalies();
        prop_assert_eq!(lifetimes.displaced, anomalies.lost_frees + anomalies.conflicts);
        for site in &profile.sites {
            let mut cost = lifetimes.costs.get(&(site.process.0, site.node.0)).copied().unwrap_or_default();
            cost.peak = site.cost.peak;
            prop_assert_eq!(cost, site.cost, "{:?}", site);
        }
        prop_assert_eq!(lifetimes.costs.len(), profile.sites.len());
    }
}
