//! The beginning of every document about one capture.

use super::SCHEMA;
use analysis::query::Unmatched;
use engine::{Loaded, Seen};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Head<'a> {
    schema: u32,
    document: &'static str,
    file: &'a str,
    cut: Option<&'a str>,
    unmatched: Vec<UnmatchedFields<'a>>,
}

/// A name in an option that matches nothing.
#[derive(Serialize)]
pub(super) struct UnmatchedFields<'a> {
    field: &'static str,
    name: &'a str,
    nearest: &'a [String],
}

impl<'a> Head<'a> {
    /// For the document with this name.
    pub(super) fn new(loaded: &'a Loaded, document: &'static str) -> Self {
        let source = &loaded.source;
        let unmatched = UnmatchedFields::of(loaded.seen.as_ref());
        Self { schema: SCHEMA, document, file: &source.file, cut: source.cut.as_deref(), unmatched }
    }
}

impl<'a> UnmatchedFields<'a> {
    /// Those of a lens.
    pub(super) fn of(seen: Option<&'a Seen>) -> Vec<Self> {
        let fields = |Unmatched { field, name, nearest }: &'a Unmatched| Self { field, name, nearest };
        seen.into_iter().flat_map(|seen| &seen.unmatched).map(fields).collect()
    }
}
