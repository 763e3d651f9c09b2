//! `timeline --json`: the heap over time.

use super::head::Head;
use super::span::SpanFields;
use super::write_document;
use analysis::{Timeline, Track, resident};
use capture::CounterKind;
use engine::Loaded;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    sample_interval: Option<u64>,
    #[serde(flatten)]
    span: SpanFields,
    peak_time_ns: u64,
    peak_bytes: i64,
    peak_blocks: i64,
    start_ns: u64,
    step_ns: u64,
    steps: Vec<Step>,
    tracks: Vec<TrackFields<'a>>,
}

#[derive(Serialize)]
struct TrackFields<'a> {
    name: &'a str,
    counts: Vec<i64>,
    sums: Vec<i64>,
}

#[derive(Serialize)]
struct Step {
    end_ns: u64,
    held_bytes: i64,
    held_blocks: i64,
    peak_bytes: i64,
    peak_blocks: i64,
    allocations: i64,
    bytes: i64,
    frees: i64,
    freed_bytes: i64,
    rss_bytes: Option<i64>,
    pss_bytes: Option<i64>,
    swap_bytes: Option<i64>,
}

impl<'a> From<&'a Track> for TrackFields<'a> {
    fn from(track: &'a Track) -> Self {
        let counts = track.steps.iter().map(|step| step.blocks).collect();
        Self { name: &track.name, counts, sums: track.steps.iter().map(|step| step.bytes).collect() }
    }
}

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
    let steps = timeline.buckets.iter().enumerate().map(|(index, step)| Step {
        end_ns: timeline.end_of(index),
        held_bytes: step.held.bytes,
        held_blocks: step.held.blocks,
        peak_bytes: step.peak.bytes,
        peak_blocks: step.peak.blocks,
        allocations: step.allocated.blocks,
        bytes: step.allocated.bytes,
        frees: step.freed.blocks,
        freed_bytes: step.freed.bytes,
        rss_bytes: rss.get(index).copied(),
        pss_bytes: pss.get(index).copied(),
        swap_bytes: swap.get(index).copied(),
    });
    let document = Document {
        head: Head::new(loaded, "timeline"),
        sample_interval: profile.sampling.map(capture::Sampling::interval),
        span: SpanFields::from(profile.span),
        peak_time_ns: profile.peak.at.time,
        peak_bytes: profile.peak.held.bytes,
        peak_blocks: profile.peak.held.blocks,
        start_ns: timeline.start,
        step_ns: timeline.width,
        steps: steps.collect(),
        tracks: timeline.beside.tracks.iter().map(TrackFields::from).collect(),
    };
    write_document(out, &document)
}
