//! Hits of tracepoints in text: the meaning of their sizes.

use analysis::format::{bytes, count};
use capture::{SizeUnit, Tracepoint};
use engine::Loaded;

/// What the size of a hit means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TracedUnit {
    /// No size: only hits are counted.
    None,
    /// Bytes.
    Bytes,
    /// The number in the tracepoint's field.
    Plain,
}

impl TracedUnit {
    /// For the selected tracepoint.
    pub(crate) fn of(loaded: &Loaded) -> TracedUnit {
        loaded.traced().map_or(TracedUnit::None, Self::of_tracepoint)
    }

    /// For this tracepoint.
    pub(crate) fn of_tracepoint(traced: &Tracepoint) -> TracedUnit {
        match traced.unit {
            _ if traced.size.is_empty() => TracedUnit::None,
            SizeUnit::Bytes => TracedUnit::Bytes,
            SizeUnit::Plain => TracedUnit::Plain,
        }
    }

    /// The header of a column of sizes.
    pub(crate) fn head(self) -> &'static str {
        match self {
            TracedUnit::None => "",
            TracedUnit::Bytes => "bytes",
            TracedUnit::Plain => "sum",
        }
    }

    /// A sum of sizes.
    pub(crate) fn of_size(self, size: i64) -> String {
        match self {
            TracedUnit::None => String::new(),
            TracedUnit::Bytes => bytes(size),
            TracedUnit::Plain => count(size),
        }
    }
}
