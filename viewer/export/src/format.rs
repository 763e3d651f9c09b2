//! The formats and their names.

use std::str::FromStr;

analysis::named! {
    /// A format for other programs.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Format {
        /// A line for each stack: `main;parse;push 4096`.
        Folded = "folded",
        /// A flame graph as an SVG file, which a browser opens.
        Flamegraph = "flamegraph",
        /// <https://www.speedscope.app>.
        Speedscope = "speedscope",
        /// The protocol buffer of Go's pprof, compressed with gzip.
        Pprof = "pprof",
        /// <https://profiler.firefox.com>.
        Firefox = "firefox",
        /// `KCachegrind` and `callgrind_annotate`.
        Callgrind = "callgrind",
        /// A call graph for Graphviz.
        Dot = "dot",
        /// Bytes held over time, for `ms_print` and massif-visualizer.
        Massif = "massif",
        /// `heaptrack_print` and `heaptrack_gui`.
        Heaptrack = "heaptrack",
        /// GNOME Sysprof.
        Syscap = "syscap",
        /// <https://ui.perfetto.dev>.
        Perfetto = "perfetto",
        /// A table of stacks for spreadsheets.
        Csv = "csv",
        /// All stacks as JSON: see `JSON.md`.
        Json = "json",
    }
}

impl Format {
    /// Which programs open it, for help texts.
    pub fn what(self) -> &'static str {
        match self {
            Format::Folded => "one line per stack, for flamegraph.pl, inferno and scripts",
            Format::Flamegraph => "an SVG flame graph, for browsers",
            Format::Speedscope => "for speedscope.app",
            Format::Pprof => "gzipped protobuf, for go tool pprof, Pyroscope and others",
            Format::Firefox => "allocations, samples and marks over time, for profiler.firefox.com",
            Format::Callgrind => "for KCachegrind and callgrind_annotate",
            Format::Dot => "a call graph, for Graphviz",
            Format::Massif => "the heap over time and at the peak, for ms_print and massif-visualizer",
            Format::Heaptrack => "every allocation, for heaptrack_print and heaptrack_gui",
            Format::Syscap => "every allocation, sample and mark, and counters, for GNOME Sysprof",
            Format::Perfetto => "heap profiles, samples, counters and marks over time, for ui.perfetto.dev",
            Format::Csv => "one row per stack, for spreadsheets and scripts",
            Format::Json => "all stacks as a table of callers, for scripts",
        }
    }

    /// True for formats with a single metric, which has to be selected; the others contain all.
    pub fn holds_one_metric(self) -> bool {
        matches!(self, Format::Folded | Format::Flamegraph | Format::Dot)
    }

    /// True where a metric can be selected: the only one, or the one that is shown first.
    pub fn takes_metric(self) -> bool {
        self.holds_one_metric() || matches!(self, Format::Speedscope | Format::Pprof)
    }

    /// True for drawings, which leave out what is small.
    pub fn is_cut(self) -> bool {
        self == Format::Dot
    }

    /// True for binary formats.
    pub fn is_binary(self) -> bool {
        matches!(self, Format::Pprof | Format::Syscap | Format::Perfetto)
    }

    /// True for formats that contain the whole capture, event by event: they cannot be restricted to a part.
    pub fn holds_events(self) -> bool {
        matches!(
            self,
            Format::Firefox | Format::Massif | Format::Heaptrack | Format::Syscap | Format::Perfetto
        )
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let found = Self::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

/// The word is not the name of a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown format `{0}`: use one of {all}", all = Format::ALL.map(Format::name).join(", "))]
pub struct UnknownFormat(String);

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that every format is found by its own name, and that the error for another name lists them all.
    #[test]
    fn names_lead_back() {
        let error = "PDF".parse::<Format>().unwrap_err().to_string();
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
            assert!(error.contains(format.name()), "{error}");
        }
    }
}
