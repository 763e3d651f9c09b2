//! What a recording stores against passes over everything.

use super::{Made, events, family};
use analysis::query::{Part, Query};
use analysis::{Amount, Profile, ProfileBuilder, Results, Timeline, VERSION};
use capture::{Chunk, ChunkKind, Event, Reader, TIME_UNIT_NS, Tables};
use engine::Analyzer;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn ask(path: &Path, part: Part) -> Profile {
    Analyzer::open(path).unwrap().profile(&Query::of(part)).unwrap()
}

/// Everything that a profile says.
fn all_of(profile: &Profile) -> String {
    let mut profile = profile.clone();
    profile.sites.retain(|site| site.cost != Default::default());
    profile.sites.sort_by_key(|site| (site.process, site.node));
    // Totals of the programs' own heaps are those of captures as a whole.
    profile.pools.clear();
    let text = format!("{profile:#?}");
    // A recording counts by the times that were given, which are up to a microsecond beside the stored ones.
    let is_time = |line: &&str| line.trim_start().starts_with("time: ") || line.contains("last_time: ");
    text.lines().filter(|line| !is_time(line)).collect::<Vec<_>>().join("\n")
}

/// A capture of events, as it was recorded, and with its events alone.
fn written(tables: Tables, events: Vec<Event>, folder: &tempfile::TempDir) -> (Made, [PathBuf; 2]) {
    let made = Made { tables, events, ..Made::default() };
    let paths = ["recorded.memprof", "events.memprof"].map(|name| folder.path().join(name));
    made.record(&paths[0]);
    made.write(&paths[1]);
    (made, paths)
}

fn many() -> impl Strategy<Value = Vec<Event>> {
    (events(), events()).prop_map(|(mut events, more)| {
        let last = events.len() as u64;
        events.extend(more.into_iter().map(|event| Event { time: event.time + last, ..event }));
        events.iter_mut().for_each(|event| event.time *= 1000);
        events
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Check that answers from stored results and states are those of a pass over all events: the whole, moments and
    /// ranges.
    #[test]
    fn what_is_stored_is_what_passes_find(events in many(), times in prop::collection::vec((0..700_u64, 0..700_u64), 8)) {
        let folder = tempfile::tempdir().unwrap();
        let (_, [recorded, plain]) = written(family(), events, &folder);
        let reader = Reader::open(&recorded).unwrap();
        prop_assert!(reader.results::<Results>(VERSION).is_some_and(|results| results.fit(reader.tables())));
        prop_assert!(reader.event_count() < 30 || reader.states().count() > 0);
        let (stored, found) = (ask(&recorded, Part::Whole), ask(&plain, Part::Whole));
        prop_assert_eq!(all_of(&stored), all_of(&found));
        prop_assert!(stored.peak.at.time.abs_diff(found.peak.at.time) < TIME_UNIT_NS);
        let when = |time: u64| format!("{time}us").parse::<analysis::query::When>().unwrap();
        for (one, two) in times {
            for part in [Part::At(when(one)), Part::Range(when(one.min(two)), when(one.max(two)))] {
                prop_assert_eq!(all_of(&ask(&recorded, part.clone())), all_of(&ask(&plain, part)));
            }
        }
    }

    /// Check that each step of a timeline is what a pass over its events finds: what is held at its end and at most, what
    /// was allocated and freed; for the whole and for a range, with and without what a recording stores.
    #[test]
    fn timelines_are_those_of_passes(events in many(), steps in 2..40_usize, ends in (0..600_u64, 0..600_u64)) {
        let folder = tempfile::tempdir().unwrap();
        let (made, paths) = written(family(), events, &folder);
        let when = |time: u64| format!("{time}us").parse::<analysis::query::When>().unwrap();
        let (from, to) = (ends.0.min(ends.1), ends.0.max(ends.1) + 1);
        // Stored times are up to a microsecond beside those that were given, by which the recording has counted.
        let stored = |path| Reader::open(path).unwrap().events().unwrap().map(Result::unwrap).collect();
        let of_file = Made { tables: made.tables.clone(), events: stored(&paths[1]), ..Made::default() };
        for part in [Part::Whole, Part::Range(when(from), when(to))] {
            for path in &paths {
                let is_stored = *path == paths[0] && part == Part::Whole;
                let mut analyzer = Analyzer::open(path).unwrap();
                let (timeline, profile) = analyzer.timeline(&part, steps).unwrap();
                prop_assert!(!timeline.buckets.is_empty() && timeline.buckets.len() <= steps);
                check(if is_stored { &made } else { &of_file }, &timeline, part == Part::Whole)?;
                let highest = timeline.buckets.iter().map(|bucket| bucket.peak.bytes).max();
                prop_assert_eq!(highest, Some(profile.peak.held.bytes));
            }
        }
    }
}

/// Counts the events of each step by themselves.
fn check(made: &Made, timeline: &Timeline, is_whole: bool) -> Result<(), TestCaseError> {
    let before = |time: u64| made.events.iter().take_while(|event| event.time <= time).count();
    for (index, bucket) in timeline.buckets.iter().enumerate() {
        let (start, end) = (timeline.end_of(index) - timeline.width, timeline.end_of(index));
        let first = if index == 0 && is_whole { 0 } else { before(start) };
        let mut builder = ProfileBuilder::new(&made.tables);
        builder.events(&made.events[..first]);
        builder.begin_range();
        builder.events(&made.events[first..before(end).max(first)]);
        let (range, ()) = builder.cut();
        let mut builder = ProfileBuilder::new(&made.tables);
        builder.events(&made.events[..before(end)]);
        builder.hold_peak();
        let held: Amount = builder.cut().0.peak.held;
        prop_assert_eq!(bucket.held, held, "held at the end of step {} of {:?}", index, timeline);
        prop_assert_eq!(bucket.peak.bytes, range.peak.held.bytes, "peak of step {}", index);
        prop_assert_eq!(bucket.allocated, range.total.allocated, "allocated in step {}", index);
        prop_assert_eq!(bucket.freed, range.total.freed, "freed in step {}", index);
    }
    Ok(())
}

/// Check that a chunk of what is stored that is damaged anywhere changes no answer: what it has is counted again.
#[test]
fn damaged_results_and_states_count_as_absent() {
    let folder = tempfile::tempdir().unwrap();
    let mut made = Made { tables: family(), ..Made::default() };
    let stack = made.stack("main > f");
    (0..200).for_each(|block| made.alloc(capture::ThreadId(0), 0x1000 + block * 16, 8, stack));
    let (_, [path, plain]) = written(made.tables, made.events, &folder);
    let parts = || [Part::Whole, Part::At("150ms".parse().unwrap())];
    let expected = parts().map(|part| all_of(&ask(&plain, part)));
    let sound = std::fs::read(&path).unwrap();
    let reader = Reader::open(&path).unwrap();
    let is_stored = |chunk: &&Chunk| matches!(chunk.kind(), Some(ChunkKind::State | ChunkKind::Results));
    let chunks: Vec<Chunk> = reader.index().iter().filter(is_stored).copied().collect();
    assert!(chunks.len() > 3);
    for place in chunks.iter().flat_map(|chunk| (chunk.offset..chunk.offset + chunk.length()).step_by(13)) {
        let mut bytes = sound.clone();
        bytes[place as usize] ^= 0x55;
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(parts().map(|part| all_of(&ask(&path, part))), expected, "byte {place}");
    }
}
