//! An aggregated capture that is made of a growing one, and what is asked of it.

use crate::support::Made;
use analysis::Span;
use analysis::query::{Part, Query, When};
use capture::{
    Action, Create, Ended, Event, MarkKind, Metadata, Process, ProcessEnd, ProcessId, Reader, Summary,
    Thread, Writer,
};
use engine::{Analyzer, Error};
use export::aggregate::{Aggregate, metadata};
use std::path::{Path, PathBuf};
use std::time::Duration;

const SECOND: u64 = 1_000_000_000;

/// A process that keeps a kilobyte each second and says so after three.
fn grows() -> Made {
    let (mut made, process, thread, [keep, churn]) = Made::app_with(["main > keep", "main > churn"]);
    for second in 0..10 {
        made.time = second * SECOND + SECOND / 2;
        made.alloc(thread, 0x1000 * (second + 1), 1000, keep);
        made.alloc(thread, 0x100, 50, churn);
        made.free(thread, 0x100);
        if second == 3 {
            made.mark(thread, MarkKind::Instant, "three");
        }
    }
    made.end(process, thread, Ended::Exited(0));
    made
}

/// The aggregated capture of a capture, which is followed while it is written.
fn aggregated(made: &Made, folder: &Path) -> PathBuf {
    let (all, totals) = (folder.join("all.memprof"), folder.join("totals.memprof"));
    let mut writer = made.begin(&all);
    writer.flush().unwrap();
    let reader = Reader::open(&all).unwrap();
    let every = Duration::from_secs(2);
    let begun = Writer::create(&totals, Create::New, &metadata(&reader.tables().metadata, every));
    let mut aggregate = Aggregate::new(reader, begun.unwrap(), every);
    for event in &made.events {
        writer.event(*event).unwrap();
        writer.flush().unwrap();
        aggregate.refresh().unwrap();
    }
    writer.finish(&made.tables.summary.clone().unwrap_or_default()).unwrap();
    aggregate.finish().unwrap();
    totals
}

/// Check that a moment between two snapshots is answered by the one before and says when that was, and that a mark has its own.
#[test]
fn moments_are_those_of_snapshots() {
    let folder = tempfile::tempdir().unwrap();
    let file = aggregated(&grows(), folder.path());
    for (moment, time, blocks) in [
        ("1s", 0, 0),
        ("2s", 2 * SECOND, 2),
        ("3.9s", 3 * SECOND + SECOND / 2, 4),
        ("5s", 4 * SECOND, 4),
        ("7999ms", 6 * SECOND, 6),
        ("three", 3 * SECOND + SECOND / 2, 4),
    ] {
        let when: When = moment.parse().unwrap();
        let mut analyzer = Analyzer::open(&file).unwrap();
        let profile = analyzer.profile(&Query::of(Part::At(when))).unwrap();
        let Span::At(at) = profile.span else { panic!("{:?}", profile.span) };
        assert!(at.time.abs_diff(time) < SECOND / 100, "{moment}: {} and {time}", at.time);
        assert_eq!(profile.total.leaked.blocks, blocks, "{moment}");
    }
}

/// Check that the whole of it, its timeline and its history have the numbers of all events, and when most was held.
#[test]
fn the_whole_is_that_of_all_events() {
    let folder = tempfile::tempdir().unwrap();
    let made = grows();
    let file = aggregated(&made, folder.path());
    let expected = made.profile();
    let mut analyzer = Analyzer::open(&file).unwrap();
    let (profile, history) = analyzer.history().unwrap();
    assert_eq!(profile.total, expected.total);
    assert_eq!((profile.peak.held, profile.peak.at.time), (expected.peak.held, expected.peak.at.time));
    assert_eq!(history.slices.last().map(|slice| slice.live.blocks), Some(0));
    assert!(
        history.slices.iter().any(|slice| slice.before_end && slice.live.blocks == 10),
        "{:?}",
        history.slices
    );
    let (timeline, _) = analyzer.timeline(&Part::Whole, 100).unwrap();
    let allocated: i64 = timeline.buckets.iter().map(|bucket| bucket.allocated.blocks).sum();
    assert_eq!(allocated, expected.total.allocated.blocks);
    let snapshots = profile.snapshots.unwrap();
    // Five at two seconds each, one for the mark, one for the end of the process, and the last one.
    assert!(snapshots.count == 7 && snapshots.first.abs_diff(2 * SECOND) <= 1000, "{snapshots:?}");
}

/// Check that processes which come and go between looks have their rows as they are in the end, and the first of their threads:
/// how one ended may be known long after its end.
#[test]
fn processes_that_come_and_go_are_copied() {
    let folder = tempfile::tempdir().unwrap();
    let (all, totals) = (folder.path().join("all.memprof"), folder.path().join("totals.memprof"));
    let mut writer = Writer::create(&all, Create::New, &Metadata::default()).unwrap();
    writer.flush().unwrap();
    let reader = Reader::open(&all).unwrap();
    let every = Duration::from_secs(2);
    let begun = Writer::create(&totals, Create::New, &metadata(&reader.tables().metadata, every)).unwrap();
    let mut aggregate = Aggregate::new(reader, begun, every);
    let row = |pid: u32, ended| Process {
        pid,
        end: Some(ProcessEnd { ended, time: u64::from(pid) * SECOND }),
        ..Process::default()
    };
    for pid in 0..100 {
        let process = writer.process(Process { pid, ..Process::default() }).unwrap();
        let tids = [2 * pid, 2 * pid + 1];
        let threads = tids.map(|tid| writer.thread(Thread { process, tid, ..Thread::default() }).unwrap());
        let time = u64::from(pid) * SECOND;
        for action in [Action::ProcessStart { process, fork: 0 }, Action::ProcessEnd { process }] {
            writer.event(Event { time, thread: threads[1], action }).unwrap();
            writer.flush().unwrap();
            aggregate.refresh().unwrap();
        }
        writer.update_process(process, row(pid, Ended::Unknown)).unwrap();
    }
    writer.update_process(ProcessId(0), row(0, Ended::Exited(3))).unwrap();
    writer.finish(&Summary::default()).unwrap();
    aggregate.finish().unwrap();
    let (all, totals) = (Reader::open(&all).unwrap(), Reader::open(&totals).unwrap());
    assert_eq!(totals.tables().processes, all.tables().processes);
    assert_eq!(totals.tables().processes[0].end.as_ref().unwrap().ended, Ended::Exited(3));
    let tids: Vec<u32> = totals.tables().threads.iter().map(|thread| thread.tid).collect();
    assert_eq!(tids, (0..100).map(|pid| 2 * pid).collect::<Vec<_>>());
}

/// Check that questions about single blocks are refused with what to record instead.
#[test]
fn single_blocks_are_not_known() {
    let folder = tempfile::tempdir().unwrap();
    let file = aggregated(&grows(), folder.path());
    let mut query = Query::default();
    query.filter.sizes = Some("100..200".parse().unwrap());
    let refused = Analyzer::open(&file).unwrap().profile(&query).unwrap_err();
    assert!(matches!(refused, Error::Aggregated { .. }), "{refused}");
    assert!(refused.to_string().contains("without --aggregate"), "{refused}");
}
