//! `timeline`: the heap over time, step by step.

use super::fields::{sample_interval, span};
use crate::table::{Column, Document, Head, Most, Row, Table, Title, Value, columns};
use analysis::{Amount, Bucket, Metric, Timeline, Track, resident};
use capture::CounterKind;
use engine::Loaded;

/// A row for each step, and what happened apart from the heap.
pub fn timeline(loaded: &Loaded, timeline: &Timeline) -> Document {
    let peak = &loaded.profile.peak;
    let mut fields = vec![("sample_interval", sample_interval(loaded))];
    fields.extend(span(loaded.profile.span));
    fields.extend([
        ("peak_time_ns", Value::Time(peak.at.time)),
        ("peak_bytes", Value::bytes(peak.held.bytes)),
        ("peak_blocks", Value::count(peak.held.blocks)),
        ("start_ns", Value::Time(timeline.start)),
        ("step_ns", Value::Duration(timeline.width)),
    ]);
    let tracks = timeline.beside.tracks.iter().map(track).collect();
    Document {
        head: Head::File,
        fields,
        more: vec![("tracks", Value::List(tracks))],
        ..Document::new("timeline", Title::Amount(Metric::Peak), [steps(loaded, timeline)])
    }
}

fn steps(loaded: &Loaded, timeline: &Timeline) -> Table {
    let of_kernel = |kind| {
        let ends = (0..timeline.buckets.len()).map(|index| timeline.end_of(index));
        resident(&loaded.counters, kind, &loaded.tables.processes, ends)
    };
    let kernel = [CounterKind::Rss, CounterKind::Pss, CounterKind::Swap].map(of_kernel);
    let read = |kind: usize, index: usize| Value::known(kernel[kind].get(index).copied().map(Value::bytes));
    let (columns, cells) = columns![|(index, step): (usize, &Bucket)|
        Column::new("end_ns", "until") => Value::Time(timeline.end_of(index)),
        Column::new("held_bytes", "held") => Value::bytes(step.held.bytes),
        Column::new("held_blocks", "blocks") => Value::count(step.held.blocks),
        Column::new("peak_bytes", "at most") => Value::bytes(step.peak.bytes),
        Column::new("peak_blocks", "blocks") => Value::count(step.peak.blocks),
        Column::new("allocations", "allocations") => Value::count(step.allocated.blocks),
        Column::new("bytes", "bytes") => Value::bytes(step.allocated.bytes),
        Column::new("frees", "frees") => Value::count(step.freed.blocks),
        Column::new("freed_bytes", "freed") => Value::bytes(step.freed.bytes),
        Column::new("rss_bytes", "resident") => read(0, index),
        Column::new("pss_bytes", "proportional") => read(1, index),
        Column::new("swap_bytes", "swapped") => read(2, index),
    ];
    let rows = timeline.buckets.iter().enumerate().map(|step| Row::new(cells(step), Value::Empty));
    Table { most: Most::All, ..Table::new("steps", columns, "").rows(rows) }
}

/// Something apart from the heap, step by step.
fn track(track: &Track) -> Value {
    let numbers =
        |of: fn(&Amount) -> i64| Value::List(track.steps.iter().map(|step| Value::count(of(step))).collect());
    let (counts, sums) = (numbers(|step| step.blocks), numbers(|step| step.bytes));
    Value::Record(vec![("name", Value::name(&track.name)), ("counts", counts), ("sums", sums)])
}
