//! Views as they are printed.

use engine::{Compared, Loaded};
use report::table::{Document, Readers};
use report::text::{Extent, Style};
use report::{DiffOptions, ReportOptions, json, text, views};
use serde_json::Value;
use std::fmt::Debug;

/// What is written, as text.
pub(crate) fn written<E: Debug>(write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// What is written as JSON.
pub(crate) fn parsed<E: Debug>(write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Value {
    serde_json::from_str(&written(write)).unwrap()
}

/// A document as text, with at most `limit` rows of a table.
pub(crate) fn document(loaded: &Loaded, document: &Document, limit: usize, style: &Style) -> String {
    written(|out| text::document(out, loaded, document, Extent::of_command(limit), style))
}

/// A document as JSON.
pub(crate) fn document_json(loaded: &Loaded, document: &Document) -> Value {
    parsed(|out| json::document(out, loaded, document))
}

/// `report`.
pub(crate) fn report(loaded: &Loaded, options: &ReportOptions) -> String {
    written(|out| text::report(out, loaded, options, &Style::default()))
}

/// `report --json`.
pub(crate) fn report_json(loaded: &Loaded, options: &ReportOptions) -> Value {
    parsed(|out| json::report(out, loaded, options))
}

/// `diff`.
pub(crate) fn diff(compared: &Compared, options: &DiffOptions) -> String {
    written(|out| text::diff(out, compared, options, &Style::default()))
}

/// `info`.
pub(crate) fn info(loaded: &Loaded, limit: Option<usize>, style: &Style) -> String {
    let limit = limit.unwrap_or(50);
    document(loaded, &views::info(loaded, limit), limit, style)
}

/// `leaks`.
pub(crate) fn leaks(loaded: &Loaded, limit: usize, style: &Style) -> String {
    document(loaded, &views::leaks(loaded, limit, Readers::People), usize::MAX, style)
}

/// What is printed after a recording.
pub(crate) fn summary(loaded: &Loaded, command: &'static str, style: &Style) -> String {
    document(loaded, &views::summary(loaded, Some(command)), usize::MAX, style)
}

/// `info --json`.
pub(crate) fn info_json(loaded: &Loaded) -> String {
    written(|out| json::document(out, loaded, &views::info(loaded, usize::MAX)))
}
