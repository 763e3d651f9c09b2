//! `timeline --json`: the heap over time.

use super::document::{Fields, kind};
use super::write_document;
use crate::table::Value;
use crate::views::fields::{head, sample_interval, span};
use analysis::{Timeline, Track, resident};
use capture::CounterKind;
use engine::Loaded;
use std::io::{self, Write};

/// Writes the steps.
///
/// # Errors
/// Those of the writer.
pub fn timeline(out: &mut dyn Write, loaded: &Loaded, timeline: &Timeline) -> io::Result<()> {
    let profile = &loaded.profile;
    let of_kernel = |kind| {
        let ends = (0..timeline.buckets.len()).map(|index| timeline.end_of(index));
        resident(&loaded.counters, kind, &loaded.tables.processes, ends)
    };
    let [rss, pss, swap] = [CounterKind::Rss, CounterKind::Pss, CounterKind::Swap].map(of_kernel);
    let step = |(index, step): (usize, &analysis::Bucket)| {
        let read = |sizes: &[i64]| Value::known(sizes.get(index).copied().map(Value::bytes));
        Value::Record(vec![
            ("end_ns", Value::Time(timeline.end_of(index))),
            ("held_bytes", Value::bytes(step.held.bytes)),
            ("held_blocks", Value::count(step.held.blocks)),
            ("peak_bytes", Value::bytes(step.peak.bytes)),
            ("peak_blocks", Value::count(step.peak.blocks)),
            ("allocations", Value::count(step.allocated.blocks)),
            ("bytes", Value::bytes(step.allocated.bytes)),
            ("frees", Value::count(step.freed.blocks)),
            ("freed_bytes", Value::bytes(step.freed.bytes)),
            ("rss_bytes", read(&rss)),
            ("pss_bytes", read(&pss)),
            ("swap_bytes", read(&swap)),
        ])
    };
    let track = |track: &Track| {
        let numbers = |of: fn(&analysis::Amount) -> i64| {
            Value::List(track.steps.iter().map(|step| Value::count(of(step))).collect())
        };
        let (counts, sums) = (numbers(|step| step.blocks), numbers(|step| step.bytes));
        Value::Record(vec![("name", Value::name(&track.name)), ("counts", counts), ("sums", sums)])
    };
    let mut fields = kind("timeline");
    fields.extend(head(loaded));
    fields.push(("sample_interval", sample_interval(loaded)));
    fields.extend(span(profile.span));
    fields.extend([
        ("peak_time_ns", Value::Time(profile.peak.at.time)),
        ("peak_bytes", Value::bytes(profile.peak.held.bytes)),
        ("peak_blocks", Value::count(profile.peak.held.blocks)),
        ("start_ns", Value::Time(timeline.start)),
        ("step_ns", Value::Duration(timeline.width)),
        ("steps", Value::List(timeline.buckets.iter().enumerate().map(step).collect())),
        ("tracks", Value::List(timeline.beside.tracks.iter().map(track).collect())),
    ]);
    write_document(out, &Fields { loaded, fields })
}
