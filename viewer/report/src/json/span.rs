//! The part of a capture that a document is about.

use analysis::Span;
use serde::Serialize;

/// All null for the whole.
#[derive(Serialize)]
pub(super) struct SpanFields {
    at_ns: Option<u64>,
    from_ns: Option<u64>,
    to_ns: Option<u64>,
}

impl From<Span> for SpanFields {
    fn from(span: Span) -> Self {
        let (at_ns, from_ns, to_ns) = match span {
            Span::Whole => (None, None, None),
            Span::At(at) => (Some(at.time), None, None),
            Span::Range { from, to } => (None, Some(from.time), Some(to.time)),
        };
        Self { at_ns, from_ns, to_ns }
    }
}
