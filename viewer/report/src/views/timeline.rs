//! `timeline`: the heap over time, step by step.

use super::fields::{sample_interval, span};
use crate::table::{Column, Document, Head, Most, Row, Table, Title, Value};
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
    let columns = [
        Column::new("end_ns", "until"),
        Column::new("held_bytes", "held"),
        Column::new("held_blocks", "blocks"),
        Column::new("peak_bytes", "at most"),
        Column::new("peak_blocks", "blocks"),
        Column::new("allocations", "allocations"),
        Column::new("bytes", "bytes"),
        Column::new("frees", "frees"),
        Column::new("freed_bytes", "freed"),
        Column::new("rss_bytes", "resident"),
        Column::new("pss_bytes", "proportional"),
        Column::new("swap_bytes", "swapped"),
    ];
    let row = |(index, step): (usize, &Bucket)| {
        let pair = |Amount { blocks, bytes }| [Value::bytes(bytes), Value::count(blocks)];
        let calls = |amount| {
            let [bytes, blocks] = pair(amount);
            [blocks, bytes]
        };
        let read = kernel.each_ref().map(|sizes| Value::known(sizes.get(index).copied().map(Value::bytes)));
        let numbers = [pair(step.held), pair(step.peak), calls(step.allocated), calls(step.freed)];
        let end = Value::Time(timeline.end_of(index));
        let cells = [end].into_iter().chain(numbers.into_iter().flatten()).chain(read);
        Row::new(cells.collect::<Vec<_>>(), Value::Empty)
    };
    let rows = timeline.buckets.iter().enumerate().map(row);
    Table { most: Most::All, ..Table::new("steps", columns, "").rows(rows) }
}

/// Something apart from the heap, step by step.
fn track(track: &Track) -> Value {
    let numbers =
        |of: fn(&Amount) -> i64| Value::List(track.steps.iter().map(|step| Value::count(of(step))).collect());
    let (counts, sums) = (numbers(|step| step.blocks), numbers(|step| step.bytes));
    Value::Record(vec![("name", Value::name(&track.name)), ("counts", counts), ("sums", sums)])
}
