//! What an index keeps against passes over everything.

use super::{Made, events, family};
use analysis::query::{Part, Query};
use analysis::{Amount, Load, Profile, Timeline};
use capture::{Event, Reader, Tables};
use engine::{Analyzer, Cache};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

/// A state each twenty events.
fn cache(folder: &Path) -> Cache {
    Cache::in_folder(folder.join("cache")).with_spacing(20, 0)
}

fn ask(path: &Path, cache: Cache, part: Part) -> Profile {
    Analyzer::with_cache(path, cache).unwrap().profile(&Query::of(part)).unwrap()
}

/// Everything that a profile says.
fn all_of(profile: &Profile) -> String {
    let mut profile = profile.clone();
    profile.sites.retain(|site| site.cost != Default::default());
    profile.sites.sort_by_key(|site| (site.process, site.node));
    // Totals of the programs' own heaps are those of captures as a whole.
    profile.pools.clear();
    format!("{profile:#?}")
}

/// A capture of events, with them as it has them: stored times are up to a microsecond beside those that were given.
fn written(tables: Tables, events: Vec<Event>, folder: &tempfile::TempDir) -> (Made, PathBuf) {
    let made = Made { tables, events, ..Made::default() };
    let path = folder.path().join("a.memprof");
    made.write(&path);
    let stored = Reader::open(&path).unwrap().events().unwrap().map(Result::unwrap).collect();
    (Made { events: stored, ..made }, path)
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

    /// Check that answers which begin at a kept state are those of a pass over all events: the whole, moments and ranges.
    #[test]
    fn kept_states_answer_as_passes_do(events in many(), times in prop::collection::vec((0..700_u64, 0..700_u64), 8)) {
        let folder = tempfile::tempdir().unwrap();
        let (_, path) = written(family(), events, &folder);
        for part in [Part::Whole, Part::Whole] {
            prop_assert_eq!(all_of(&ask(&path, cache(folder.path()), part.clone())), all_of(&ask(&path, Cache::none(), part)));
        }
        let when = |time: u64| format!("{time}us").parse::<analysis::query::When>().unwrap();
        for (one, two) in times {
            for part in [Part::At(when(one)), Part::Range(when(one.min(two)), when(one.max(two)))] {
                let kept = ask(&path, cache(folder.path()), part.clone());
                prop_assert_eq!(all_of(&kept), all_of(&ask(&path, Cache::none(), part)));
            }
        }
    }

    /// Check that each step of a timeline is what a pass over its events finds: what is held at its end and at most, what
    /// was allocated and freed; for the whole and for a range, with and without an index.
    #[test]
    fn timelines_are_those_of_passes(events in many(), steps in 2..40_usize, ends in (0..600_u64, 0..600_u64)) {
        let folder = tempfile::tempdir().unwrap();
        let (made, path) = written(family(), events, &folder);
        let when = |time: u64| format!("{time}us").parse::<analysis::query::When>().unwrap();
        let (from, to) = (ends.0.min(ends.1), ends.0.max(ends.1) + 1);
        for part in [Part::Whole, Part::Range(when(from), when(to))] {
            for cache in [Cache::none(), cache(folder.path())] {
                let mut analyzer = Analyzer::with_cache(&path, cache).unwrap();
                let (timeline, profile) = analyzer.timeline(&part, steps).unwrap();
                prop_assert!(!timeline.buckets.is_empty() && timeline.buckets.len() <= steps);
                check(&made, &timeline, part == Part::Whole)?;
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
        let mut load = Load::new(&made.tables);
        made.events[..first].iter().for_each(|event| load.event(event));
        load.begin_range();
        made.events[first..before(end).max(first)].iter().for_each(|event| load.event(event));
        let (range, ()) = load.cut();
        let mut load = Load::new(&made.tables);
        made.events[..before(end)].iter().for_each(|event| load.event(event));
        load.hold_peak();
        let held: Amount = load.cut().0.peak.held;
        prop_assert_eq!(bucket.held, held, "held at the end of step {} of {:?}", index, timeline);
        prop_assert_eq!(bucket.peak.bytes, range.peak.held.bytes, "peak of step {}", index);
        prop_assert_eq!(bucket.allocated, range.total.allocated, "allocated in step {}", index);
        prop_assert_eq!(bucket.freed, range.total.freed, "freed in step {}", index);
    }
    Ok(())
}

/// Check that an index which is damaged anywhere, or belongs to another capture, is made anew and changes no answer.
#[test]
fn damaged_indices_count_as_absent() {
    let folder = tempfile::tempdir().unwrap();
    let mut made = Made { tables: family(), ..Made::default() };
    let stack = made.stack("main > f");
    (0..200).for_each(|block| made.alloc(capture::ThreadId(0), 0x1000 + block * 16, 8, stack));
    let (tables, events) = (made.tables, made.events);
    let (_, path) = written(tables, events, &folder);
    let part = || Part::At("150ms".parse().unwrap());
    let expected = all_of(&ask(&path, Cache::none(), part()));
    assert_eq!(all_of(&ask(&path, cache(folder.path()), part())), expected);
    let index = std::fs::read_dir(folder.path().join("cache")).unwrap().next().unwrap().unwrap().path();
    let sound = std::fs::read(&index).unwrap();
    let mut damaged: Vec<Vec<u8>> = vec![Vec::new(), sound[..sound.len() / 2].to_vec(), sound[..10].to_vec()];
    for place in (0..sound.len()).step_by(7).chain(sound.len() - 24..sound.len()) {
        let mut bytes = sound.clone();
        bytes[place] ^= 0x55;
        damaged.push(bytes);
    }
    for bytes in damaged {
        std::fs::write(&index, bytes).unwrap();
        assert_eq!(all_of(&ask(&path, cache(folder.path()), part())), expected);
    }
    // Another capture in the place of the first.
    let mut other = Made { tables: family(), ..Made::default() };
    let stack = other.stack("main > g");
    (0..300).for_each(|block| other.alloc(capture::ThreadId(0), 0x1000 + block * 16, 9, stack));
    std::fs::remove_file(&path).unwrap();
    other.write(&path);
    let found = ask(&path, cache(folder.path()), Part::Whole);
    assert_eq!(found.total.allocated.bytes, 2700);
}
