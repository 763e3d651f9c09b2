//! Hits of tracepoints in text: what their sizes count.

use crate::format::{bytes, count};
use crate::loaded::Loaded;
use capture::{SizeUnit, Tracepoint};

/// What the size of a hit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TracedUnit {
    /// Nothing: hits are counted alone.
    None,
    /// Bytes.
    Bytes,
    /// What the tracepoint's field says.
    Plain,
}

impl TracedUnit {
    /// Of the tracepoint that is looked at.
    pub(crate) fn of(loaded: &Loaded) -> TracedUnit {
        loaded.traced().map_or(TracedUnit::None, Self::of_tracepoint)
    }

    /// Of this one.
    pub(crate) fn of_tracepoint(traced: &Tracepoint) -> TracedUnit {
        match traced.unit {
            _ if traced.size.is_empty() => TracedUnit::None,
            SizeUnit::Bytes => TracedUnit::Bytes,
            SizeUnit::Plain => TracedUnit::Plain,
        }
    }

    /// What stands over them.
    pub(crate) fn head(self) -> &'static str {
        match self {
            TracedUnit::None => "",
            TracedUnit::Bytes => "bytes",
            TracedUnit::Plain => "sum",
        }
    }

    /// A sum of them.
    pub(crate) fn of_size(self, size: i64) -> String {
        match self {
            TracedUnit::None => String::new(),
            TracedUnit::Bytes => bytes(size),
            TracedUnit::Plain => count(size),
        }
    }
}
