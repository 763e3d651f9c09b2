//! Views as they are printed.

use engine::Loaded;
use report::Format;
use report::table::{Document, Readers};
use report::text::{Extent, Style};
use report::views;
use std::io::{self, Write};

/// A document as text.
pub(crate) fn text(
    out: &mut dyn Write,
    loaded: &Loaded,
    document: &Document,
    style: &Style,
) -> io::Result<()> {
    Format::Text.write(out, loaded, document, Extent::of_command(usize::MAX), style)
}

/// `info`.
pub(crate) fn info(
    out: &mut dyn Write,
    loaded: &Loaded,
    limit: Option<usize>,
    style: &Style,
) -> io::Result<()> {
    let limit = limit.unwrap_or(50);
    Format::Text.write(out, loaded, &views::info(loaded, limit), Extent::of_command(limit), style)
}

/// `leaks`.
pub(crate) fn leaks(out: &mut dyn Write, loaded: &Loaded, limit: usize, style: &Style) -> io::Result<()> {
    text(out, loaded, &views::leaks(loaded, limit, Readers::People), style)
}

/// What is printed after a recording.
pub(crate) fn summary(
    out: &mut dyn Write,
    loaded: &Loaded,
    command: &'static str,
    style: &Style,
) -> io::Result<()> {
    text(out, loaded, &views::summary(loaded, Some(command)), style)
}

/// `info --json`.
pub(crate) fn info_json(out: &mut dyn Write, loaded: &Loaded) -> io::Result<()> {
    report::json::document(out, loaded, &views::info(loaded, usize::MAX))
}

/// `leaks --json`.
pub(crate) fn leaks_json(out: &mut dyn Write, loaded: &Loaded, limit: usize) -> io::Result<()> {
    report::json::document(out, loaded, &views::leaks(loaded, limit, Readers::Programs))
}
