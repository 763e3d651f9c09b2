//! What lies beside the heap's numbers, where it is more than they are.

use super::style::{Role, Style};
use crate::analysis::process_name;
use crate::format::bytes;
use crate::loaded::Loaded;
use std::io::{self, Write};

/// Writes one line when more pages were mapped beside the allocators than the heap ever held.
pub(super) fn pages(out: &mut dyn Write, loaded: &Loaded, style: &Style) -> io::Result<()> {
    match pages_text(loaded) {
        Some(text) => writeln!(out, "{}", style.paint(Role::Warning, format!("note: {text}"))),
        None => Ok(()),
    }
}

fn pages_text(loaded: &Loaded) -> Option<String> {
    let pages = loaded.profile.own_pages.bytes;
    let heap = loaded.profile.peak.held.bytes;
    if pages <= heap {
        return None;
    }
    let mut text = format!(
        "up to {} of pages were mapped beside the heap, more than its peak; what lies in them is not seen",
        bytes(pages)
    );
    // CPython keeps small objects in arenas of its own unless it is told otherwise.
    let names = loaded.tables.processes.iter().map(process_name);
    if names.zip(&loaded.profile.processes).any(|(name, process)| process.seen && name.starts_with("python"))
    {
        text += ". To see Python's objects, set PYTHONMALLOC=malloc";
    }
    Some(text)
}
