//! The beginning of every document about one capture.

use super::SCHEMA;
use engine::Loaded;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Head<'a> {
    schema: u32,
    document: &'static str,
    file: &'a str,
    cut: Option<&'a str>,
}

impl<'a> Head<'a> {
    /// For the document with this name.
    pub(super) fn new(loaded: &'a Loaded, document: &'static str) -> Self {
        let source = &loaded.source;
        Self { schema: SCHEMA, document, file: &source.file, cut: source.cut.as_deref() }
    }
}
