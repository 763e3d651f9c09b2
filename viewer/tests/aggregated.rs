//! An aggregated capture that is made of a growing one, and what is asked of it.

mod support;

use capture::{Ended, MarkKind, Reader};
use std::path::{Path, PathBuf};
use std::time::Duration;
use support::Made;
use viewer::aggregate::{Aggregate, metadata};
use viewer::analysis::Span;
use viewer::query::{Part, Query, When};
use viewer::{Error, Moments};

const SECOND: u64 = 1_000_000_000;

/// A process that keeps a kilobyte each second and says so after three.
fn grows() -> Made {
    let mut made = Made::new();
    let (process, thread) = made.process("app");
    let (keep, churn) = (made.stack("main > keep"), made.stack("main > churn"));
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
    let begun =
        capture::Writer::create(&totals, capture::Create::New, &metadata(&reader.tables().metadata, every));
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
        let mut moments = Moments::open(&file).unwrap();
        let profile = moments.profile(&Query::of(Part::At(when))).unwrap();
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
    let mut moments = Moments::open(&file).unwrap();
    let (profile, history) = moments.history().unwrap();
    assert_eq!(profile.total, expected.total);
    assert_eq!((profile.peak.held, profile.peak.time), (expected.peak.held, expected.peak.time));
    assert_eq!(history.slices.last().map(|slice| slice.live.blocks), Some(0));
    assert!(
        history.slices.iter().any(|slice| slice.before_end && slice.live.blocks == 10),
        "{:?}",
        history.slices
    );
    let (timeline, _) = moments.timeline(&Part::Whole, 100).unwrap();
    let allocated: i64 = timeline.buckets.iter().map(|bucket| bucket.allocated.blocks).sum();
    assert_eq!(allocated, expected.total.allocated.blocks);
    let snapshots = profile.snapshots.unwrap();
    // Five at two seconds each, one for the mark, one for the end of the process, and the last one.
    assert!(snapshots.count == 7 && snapshots.first.abs_diff(2 * SECOND) <= 1000, "{snapshots:?}");
}

/// Check that questions about single blocks are refused with what to record instead.
#[test]
fn single_blocks_are_not_known() {
    let folder = tempfile::tempdir().unwrap();
    let file = aggregated(&grows(), folder.path());
    let mut query = Query::default();
    query.filter.sizes = Some("100..200".parse().unwrap());
    let refused = Moments::open(&file).unwrap().profile(&query).unwrap_err();
    assert!(matches!(refused, Error::Aggregated { .. }), "{refused}");
    assert!(refused.to_string().contains("without --aggregate"), "{refused}");
}
