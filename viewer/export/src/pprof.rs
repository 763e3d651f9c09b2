//! The pprof format: `profile.proto` of <https://github.com/google/pprof>, compressed with gzip.
//!
//! ```text
//!  Profile ─┬─ Sample ──► Location ──► Line ──► Function ──► strings
//!           │  a stack    an address   each function
//!           │  8 values      │         that was inlined there
//!           │  labels        ▼
//!           │             Mapping      a binary and its build id; the main program's comes first
//!           └─ strings: each is written before the record that first uses it
//! ```
//!
//! Addresses in a capture are relative to files, and so overlap. Each file therefore gets a range of its own, in
//! which its addresses keep their order; a return address is replaced by that of the call before it.

mod locations;
mod strings;

use super::protobuf::Message;
use crate::origin::CREATOR;
use analysis::{Amount, Cost, Metric, Site, call_of_row};
use capture::Tables;
use engine::Loaded;
use flate2::Compression;
use flate2::write::GzEncoder;
use locations::Locations;
use report::text::{caveats, scope};
use std::io::{self, Write};
use strings::Strings;

/// A name, and the amount for it.
type Value = (&'static str, fn(&Cost) -> Amount);

/// The values of each stack: name and part of the cost. Those of Go come first. CPU samples follow.
const VALUES: [Value; 5] = [
    ("alloc", |cost| cost.allocated),
    ("inuse", Cost::live),
    ("peak", |cost| cost.peak),
    ("temporary", |cost| cost.temporary),
    ("leaked", |cost| cost.leaked),
];

/// What a heap that is still in use has of these: Go's, which every consumer of profiles knows.
const LIVE: &[Value] = VALUES.split_at(2).0;

/// Numbers of the fields of `Profile`.
mod field {
    pub(super) const SAMPLE_TYPE: u32 = 1;
    pub(super) const SAMPLE: u32 = 2;
    pub(super) const STRING_TABLE: u32 = 6;
    pub(super) const TIME_NANOS: u32 = 9;
    pub(super) const DURATION_NANOS: u32 = 10;
    pub(super) const PERIOD_TYPE: u32 = 11;
    pub(super) const PERIOD: u32 = 12;
    pub(super) const COMMENT: u32 = 13;
    pub(super) const DEFAULT_SAMPLE_TYPE: u32 = 14;
}

/// Writes all metrics; `first` is the default one to be shown.
pub(super) fn write(out: &mut dyn Write, loaded: &Loaded, first: Metric) -> io::Result<()> {
    write_values(out, loaded, first, &VALUES, true)
}

/// Writes what is in use and what was allocated, of a recording that goes on: see
/// [`Counting::so_far`](analysis::Counting::so_far).
pub(super) fn write_live(out: &mut dyn Write, loaded: &Loaded, first: Metric) -> io::Result<()> {
    write_values(out, loaded, first, LIVE, false)
}

fn write_values(
    out: &mut dyn Write,
    loaded: &Loaded,
    first: Metric,
    values: &'static [Value],
    has_others: bool,
) -> io::Result<()> {
    let mut encoder = GzEncoder::new(out, Compression::default());
    let mut writer = Writer {
        out: &mut encoder,
        loaded,
        values,
        has_others,
        strings: Strings::default(),
        locations: Locations::new(&loaded.tables),
        message: Message::new(),
    };
    writer.head(first)?;
    for site in &loaded.profile.sites {
        writer.sample(site)?;
    }
    encoder.finish()?;
    Ok(())
}

struct Writer<'a, W> {
    out: W,
    loaded: &'a Loaded,
    values: &'static [Value],
    /// CPU samples and stacks of frees follow.
    has_others: bool,
    strings: Strings,
    locations: Locations,
    /// Records that have not been written yet.
    message: Message,
}

impl<W: Write> Writer<'_, W> {
    fn head(&mut self, first: Metric) -> io::Result<()> {
        let Tables { metadata, .. } = &self.loaded.tables;
        // The first string must be empty.
        self.string("");
        for (name, _) in self.values {
            for (ending, unit) in [("objects", "count"), ("space", "bytes")] {
                let value = self.value_type(&format!("{name}_{ending}"), unit);
                self.message.message(field::SAMPLE_TYPE, &value);
            }
        }
        let frees = frees_units(self.loaded).into_iter().flatten();
        let others = [("samples", "count"), cpu_unit(self.loaded)].into_iter().chain(frees);
        for (name, unit) in others.filter(|_| self.has_others).collect::<Vec<_>>() {
            let value = self.value_type(name, unit);
            self.message.message(field::SAMPLE_TYPE, &value);
        }
        let default = match first {
            Metric::Peak => "peak_space",
            Metric::Leaked => "leaked_space",
            Metric::Live => "inuse_space",
            Metric::Allocations => "alloc_objects",
            Metric::Bytes => "alloc_space",
            Metric::Temporary => "temporary_objects",
            Metric::Frees if self.loaded.has_free_stacks() => "freed_here_objects",
            Metric::Cpu | Metric::Frees => "samples",
        };
        let default = self.string(default);
        let period = self.value_type("space", "bytes");
        let Self { loaded, strings, locations, message, .. } = self;
        locations.main_program(loaded, strings, message);
        let comments = self.comments();
        let message = &mut self.message;
        message.int(field::DEFAULT_SAMPLE_TYPE, default).message(field::PERIOD_TYPE, &period);
        message.uint(field::PERIOD, metadata.sample_interval.max(1)).ints(field::COMMENT, comments);
        let (begin, end) = self.loaded.profile.span.times(self.loaded.duration_ns());
        // If the capture does not say when it was made, times are unknown.
        let at =
            if metadata.started_unix_ns == 0 { 0 } else { metadata.started_unix_ns.saturating_add(begin) };
        message.uint(field::TIME_NANOS, at);
        message.uint(field::DURATION_NANOS, end.saturating_sub(begin));
        self.flush()
    }

    fn comments(&mut self) -> Vec<i64> {
        let labels = self.loaded.tables.metadata.labels.iter().map(|(name, value)| format!("{name}={value}"));
        let comments = [CREATOR.to_owned(), scope(self.loaded)].into_iter().chain(caveats(self.loaded));
        let comments = comments.chain(labels);
        comments.collect::<Vec<_>>().iter().map(|comment| self.string(comment)).collect()
    }

    fn sample(&mut self, site: &Site) -> io::Result<()> {
        let loaded = self.loaded;
        let stack = loaded.tables.stack(site.node);
        let frames: Vec<_> = stack.map(|(_, node)| node.frame).collect();
        let mut locations = Vec::with_capacity(frames.len());
        for frame in frames {
            let Self { loaded, strings, locations: known, message, .. } = self;
            locations.extend(known.of(loaded, frame, strings, message));
        }
        let others = [Some(site.cost.cpu), loaded.has_free_stacks().then_some(site.cost.frees)];
        let others = others.into_iter().flatten().filter(|_| self.has_others);
        let amounts = self.values.iter().map(|(_, part)| part(&site.cost)).chain(others);
        let values = amounts.flat_map(|Amount { blocks, bytes }| [blocks, bytes]);
        let mut sample = Message::new();
        sample.ints(1, locations).ints(2, values);
        let process = loaded.names.process(site.process);
        let name = self.string(&loaded.names.label(process).name);
        let call = self.string(call_of_row(&loaded.tables, site.node, &site.cost));
        for (key, text) in [("process", name), ("call", call)] {
            let key = self.string(key);
            sample.message(3, Message::new().int(1, key).int(2, text));
        }
        if let Some(process) = loaded.tables.processes.get(site.process.index()) {
            let key = self.string("pid");
            sample.message(3, Message::new().int(1, key).uint(3, process.pid.into()));
        }
        self.message.message(field::SAMPLE, &sample);
        self.flush()
    }

    fn value_type(&mut self, kind: &str, unit: &str) -> Message {
        let (kind, unit) = (self.string(kind), self.string(unit));
        Message::new().int(1, kind).int(2, unit).clone()
    }

    fn string(&mut self, text: &str) -> i64 {
        self.strings.id(text, &mut self.message)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(self.message.as_bytes())?;
        self.message.clear();
        Ok(())
    }
}

/// The units of frees at the stacks that free; none when these were not recorded.
fn frees_units(loaded: &Loaded) -> Option<[(&'static str, &'static str); 2]> {
    loaded.has_free_stacks().then_some([("freed_here_objects", "count"), ("freed_here_space", "bytes")])
}

/// The unit of the weight of CPU samples.
fn cpu_unit(loaded: &Loaded) -> (&'static str, &'static str) {
    if loaded.counts_cycles() { ("cycles", "count") } else { ("cpu", "nanoseconds") }
}
