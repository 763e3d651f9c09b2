//! Histories of synthetic recordings agree with the counts of the same pass.

use super::{Detail, Flow, History, Recorder};
use crate::base::cost::Amount;
use crate::count::builder::ProfileBuilder;
use crate::count::profile::Profile;
use capture::{
    Action, Ended, Event, Frame, FrameId, Node, NodeId, Process, ProcessEnd, ProcessId, Tables, Thread,
    ThreadId,
};
use proptest::prelude::*;

const MAIN: ThreadId = ThreadId(0);
const OTHER: ThreadId = ThreadId(1);

/// One process with two threads and this many stacks in addition to the empty one.
fn tables(stacks: u32, ended: Option<Ended>) -> Tables {
    let process = Process { end: ended.map(|ended| ProcessEnd { ended, time: 0 }), ..Process::default() };
    let thread = |tid| Thread { process: ProcessId(0), tid, name: String::new() };
    let code = |address| Frame::Code { module: None, address: u64::from(address), exact: false };
    let node = |frame| Node { parent: NodeId::ROOT, frame: FrameId(frame) };
    Tables {
        processes: vec![process],
        threads: vec![thread(1), thread(2)],
        frames: (0..=stacks).map(code).collect(),
        nodes: (0..=stacks).map(node).collect(),
        ..Tables::default()
    }
}

fn alloc(time: u64, address: u64, size: u64, stack: u32) -> Event {
    Event { time, thread: MAIN, action: Action::Alloc { address, size, alignment: 0, stack: NodeId(stack) } }
}

fn free(time: u64, thread: ThreadId, address: u64) -> Event {
    Event { time, thread, action: Action::Free { address, stack: NodeId::ROOT } }
}

fn end(time: u64) -> Event {
    Event { time, thread: MAIN, action: Action::ProcessEnd { process: ProcessId(0) } }
}

fn counted(tables: &Tables, events: &[Event]) -> (Profile, History) {
    let mut builder = ProfileBuilder::watched(tables, Recorder::new(tables));
    builder.events(events);
    let (profile, recorder) = builder.finish_watched();
    (profile, recorder.finish())
}

/// The history with a range in detail; none if the whole is as fine.
fn within(tables: &Tables, events: &[Event], whole: &History, from: u64, to: u64) -> Option<History> {
    let detail = Detail::of(whole, from, to)?;
    let mut builder = ProfileBuilder::watched(tables, detail.slices(tables));
    let needed = detail.end().position as usize;
    builder.events(&events[..needed]);
    let (_, found) = if needed < events.len() { builder.cut() } else { builder.finish_watched() };
    Some(History { spectrum: whole.spectrum.clone(), ..detail.join(found) })
}

/// The sums of a history up to a slice, by site.
fn sums(history: &History, upto: usize) -> Vec<Flow> {
    let sum = |site| {
        let changes = history.changes(site).iter().take_while(|(slice, _)| (*slice as usize) < upto);
        changes.fold(Flow::default(), |mut sum, (_, change)| {
            sum += *change;
            sum
        })
    };
    history.sites.iter().map(sum).collect()
}

/// Checks everything that must hold between a profile and its history.
fn check(profile: &Profile, history: &History) {
    let all = sums(history, history.slices.len());
    for (site, (of_profile, sum)) in history.sites.iter().zip(profile.sites.iter().zip(&all)) {
        assert_eq!((site.process, site.node), (of_profile.process, of_profile.node));
        assert_eq!(sum.allocated, of_profile.cost.allocated);
        assert_eq!(sum.temporary, of_profile.cost.temporary);
        assert_eq!(sum.frees, of_profile.cost.frees);
    }
    let highest = history.slices.iter().map(|slice| slice.most.bytes).max().unwrap_or(0);
    assert_eq!(highest, profile.peak.held.bytes);
    for (number, slice) in history.slices.iter().enumerate() {
        let live = sums(history, number + 1).iter().fold(Amount::ZERO, |sum, change| sum + change.live);
        assert_eq!(slice.live, live, "at the end of slice {number}");
    }
    let rises = history.slices.windows(2).all(|pair| pair[0].end.time <= pair[1].end.time);
    assert!(rises, "{:?}", history.slices);
    let sizes = history.spectrum.sizes.iter();
    assert_eq!(sizes.fold(Amount::ZERO, |sum, class| sum + class.allocated), profile.total.allocated);
    let lives = history.spectrum.lives.iter();
    assert_eq!(lives.fold(Amount::ZERO, |sum, life| sum + *life), profile.total.freed);
}

/// Check that what a process left behind is visible just before its end, and gone after it.
#[test]
fn heap_is_seen_before_its_end() {
    let tables = tables(2, Some(Ended::Exited(0)));
    let events = [alloc(5_000, 16, 100, 1), alloc(9_000, 32, 50, 2), free(12_000, OTHER, 32), end(20_000)];
    let (profile, history) = counted(&tables, &events);
    check(&profile, &history);
    let before = history.slices.iter().position(|slice| slice.before_end).expect("a boundary");
    assert_eq!(history.slices[before].live, Amount { blocks: 1, bytes: 100 });
    assert_eq!(history.slices[before].end.position, 3);
    assert_eq!(history.slices.last().map(|slice| slice.live), Some(Amount::ZERO));
}

/// Check that what a stack frees is known for each slice, also for a stack that allocates nothing, and in a range in
/// detail.
#[test]
fn frees_are_told_by_slice() {
    let mut tables = tables(4, Some(Ended::Exited(0)));
    tables.metadata.options.push((capture::FREE_STACKS.into(), true.to_string()));
    let free = |time, address, node| Event {
        time,
        thread: MAIN,
        action: Action::Free { address, stack: NodeId(node) },
    };
    let events = [
        alloc(5_000, 16, 100, 1),
        alloc(9_000, 32, 50, 2),
        alloc(10_000, 48, 7, 2),
        free(12_000, 32, 3),
        free(90_000, 16, 1),
        free(95_000, 48, 3),
        end(100_000),
    ];
    let (profile, history) = counted(&tables, &events);
    check(&profile, &history);
    let upto = |time: u64| {
        let slices = history.slices.iter().take_while(|slice| slice.end.time <= time).count();
        let sums = sums(&history, slices);
        let by = |node| {
            history.sites.iter().position(|site| site.node == NodeId(node)).map(|at| sums[at].frees.bytes)
        };
        [by(1), by(2), by(3)]
    };
    assert_eq!(upto(50_000), [Some(0), Some(0), Some(50)]);
    assert_eq!(upto(100_000), [Some(100), Some(0), Some(57)]);
    let slices = history.slices.iter().map(|slice| slice.change.frees);
    assert_eq!(slices.fold(Amount::ZERO, |sum, frees| sum + frees), profile.total.freed);
}

/// Check that a range of a sampled recording begins with what is held there, and ends like the whole: amounts are in
/// other units while they are added up.
#[test]
fn a_range_of_samples_begins_with_what_is_held() {
    let mut tables = tables(1, None);
    tables.metadata.sample_interval = 4096;
    let events: Vec<Event> = (1..=10_000).map(|time| alloc(time * 1_000_000, time * 16, 100, 1)).collect();
    let (_, whole) = counted(&tables, &events);
    let (from, to) = (3_000_000_000, 3_500_000_000);
    let history = within(&tables, &events, &whole, from, to).expect("the whole is coarse");
    let live = |history: &History, time: u64| {
        let last = history.slices.iter().rev().find(|slice| slice.end.time <= time);
        last.map_or(Amount::ZERO, |slice| slice.live)
    };
    let last = |history: &History| live(history, u64::MAX);
    assert!(last(&whole).blocks > 300_000, "{:?}", last(&whole));
    assert_eq!(last(&history), last(&whole));
    for time in [from, to] {
        // All blocks are alike and come at a constant rate.
        let expected = last(&whole).blocks as f64 * time as f64 / 10e9;
        let found = live(&history, time).blocks as f64;
        assert!((found / expected - 1.0).abs() < 0.01, "{found} blocks, not {expected}");
    }
}

/// Check that for a range only the range is cut, finely, and that whatever holds for a history holds for this one.
#[test]
fn a_range_alone_is_cut() {
    let tables = tables(1, None);
    let events: Vec<Event> = (1..=10_000).map(|time| alloc(time * 1_000_000, time * 16, 1, 1)).collect();
    let (from, to) = (3_000_000_000, 3_500_000_000);
    let (profile, whole) = counted(&tables, &events);
    let history = within(&tables, &events, &whole, from, to).expect("the whole is coarse");
    check(&profile, &history);
    let ends: Vec<u64> = history.slices.iter().map(|slice| slice.end.time).collect();
    let first = ends.iter().position(|&end| end == from).expect("a boundary");
    assert!(first <= 1, "{ends:?}");
    assert_eq!(history.slices[first].live.blocks, 3000);
    let inside = ends.iter().filter(|end| (from + 1..=to).contains(*end)).count();
    assert!((250..=512).contains(&inside), "{inside}");
    assert!(ends.iter().filter(|&&end| end > to).count() <= 2, "{ends:?}");
    assert!(within(&tables, &events, &whole, 0, 9_000_000_000).is_none());
}

/// Check that a range without events, and times past the recording, work as well.
#[test]
fn empty_ranges_have_a_history() {
    let tables = tables(1, Some(Ended::Exited(0)));
    let events = [alloc(5_000, 16, 100, 1), alloc(900_000_000, 32, 50, 1), end(900_000_100)];
    let (profile, whole) = counted(&tables, &events);
    for (from, to) in
        [(6_000, 7_000), (0, 1), (900_000_000, 900_000_000), (u64::MAX - 1, u64::MAX), (0, u64::MAX)]
    {
        if let Some(history) = within(&tables, &events, &whole, from, to) {
            check(&profile, &history);
        }
    }
}

/// Check that blocks of processes still running when events end are live at the last boundary.
#[test]
fn running_heap_stays() {
    let tables = tables(1, None);
    let (profile, history) = counted(&tables, &[alloc(1, 16, 100, 1)]);
    check(&profile, &history);
    assert_eq!(history.slices.last().map(|slice| slice.live.bytes), Some(100));
    assert_eq!(history.spectrum.sizes[7].left, Amount { blocks: 1, bytes: 100 });
}

/// Check that a recording of unknown length has as many slices as a screen shows, not more, and that quiet times take
/// none.
#[test]
fn slices_are_bounded() {
    let tables = tables(1, None);
    let busy = (0..100_000_u64).map(|step| alloc(step * 1_000_000, 16 * (step + 1), 8, 1));
    let mut events: Vec<Event> = busy.collect();
    let (profile, history) = counted(&tables, &events);
    check(&profile, &history);
    assert!((200..600).contains(&history.slices.len()), "{}", history.slices.len());
    events.push(alloc(u64::MAX, 8, 8, 1));
    let (profile, history) = counted(&tables, &events);
    check(&profile, &history);
    assert!((2..600).contains(&history.slices.len()), "{}", history.slices.len());
}

/// Check that of thousands of processes that end, the last ones keep their boundaries.
#[test]
fn last_ends_have_boundaries() {
    let mut tables = tables(1, Some(Ended::Exited(0)));
    let row = tables.processes[0].clone();
    let number = 3000;
    tables.processes = vec![row; number];
    tables.threads = (0..number)
        .map(|process| Thread { process: ProcessId::from_index(process), tid: 1, name: String::new() })
        .collect();
    let mut events = Vec::new();
    for process in 0..number {
        let time = 5_000 * process as u64;
        let alloc = Action::Alloc { address: 16, size: 10, alignment: 0, stack: NodeId(1) };
        events.push(Event { time, thread: ThreadId::from_index(process), action: alloc });
        let end = Action::ProcessEnd { process: ProcessId::from_index(process) };
        events.push(Event { time: time + 1, thread: ThreadId::from_index(process), action: end });
    }
    let (profile, history) = counted(&tables, &events);
    check(&profile, &history);
    assert!(history.slices.len() < 600, "{}", history.slices.len());
    let last = history.slices.iter().rev().find(|slice| slice.before_end).expect("a boundary");
    assert_eq!((last.end.position, last.live.bytes), (events.len() as u64 - 1, 10));
}

/// Check that a range in detail ends no later than what follows it, when its last event is of a later time than the
/// event after it.
#[test]
fn detail_ends_before_what_follows() {
    let tables = tables(1, None);
    let events = [
        free(27_100, MAIN, 16),
        alloc(315_001, 16, 0, 1),
        free(1_199_704, MAIN, 32),
        free(599_851, MAIN, 16),
    ];
    let (profile, whole) = counted(&tables, &events);
    let detail = within(&tables, &events, &whole, 0, 323_920).expect("few slices");
    check(&profile, &detail);
    let ends = |history: &History| history.slices.iter().map(|slice| slice.end.time).max();
    assert_eq!(ends(&detail), ends(&whole));
}

proptest! {
    /// Check that a history agrees with the counts for any events, with times in any order.
    #[test]
    fn history_agrees_with_the_profile(
        steps in prop::collection::vec((0..12_u64, 0..5_u32, 0..3000_u64, any::<bool>(), 0..2_000_000_u64), 0..300),
        falls in any::<bool>(),
        ends in any::<bool>(),
        range in (0..110_u64, 0..110_u64),
    ) {
        let tables = tables(4, ends.then_some(Ended::Exited(0)));
        let mut time = 0;
        let mut events = Vec::new();
        for (address, stack, size, is_other, gap) in steps {
            time = if falls && gap % 7 == 0 { gap } else { time + gap };
            let thread = if is_other { OTHER } else { MAIN };
            events.push(match stack {
                0 => free(time, thread, 16 * (address + 1)),
                stack => alloc(time, 16 * (address + 1), size, stack),
            });
        }
        if ends {
            events.push(end(time));
        }
        let (profile, history) = counted(&tables, &events);
        check(&profile, &history);
        let last = events.iter().map(|event| event.time).max().unwrap_or(0);
        let time = |part: u64| (u128::from(last) * u128::from(part) / 100) as u64;
        let range = (time(range.0.min(range.1)), time(range.0.max(range.1)));
        if let Some(history) = within(&tables, &events, &history, range.0, range.1) {
            check(&profile, &history);
        }
    }
}
