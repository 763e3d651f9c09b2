//! Memory apart from the heap, where it exceeds the heap.

use super::style::{Role, Style};
use analysis::format::bytes;
use analysis::process_name;
use engine::Loaded;
use std::io::{self, Write};

/// Writes a line if more pages were mapped apart from the allocators than the heap ever held.
pub(super) fn pages(out: &mut dyn Write, loaded: &Loaded, style: &Style) -> io::Result<()> {
    match pages_text(loaded) {
        Some(text) => writeln!(out, "{}", style.paint(Role::Warning, format!("note: {text}"))),
        None => Ok(()),
    }
}

/// The same as a sentence; none if the heap is larger.
pub fn pages_text(loaded: &Loaded) -> Option<String> {
    let pages = loaded.profile.own_pages.bytes;
    let heap = loaded.profile.peak.held.bytes;
    if pages <= heap {
        return None;
    }
    // Many programs reserve terabytes of address space at start.
    let how = match loaded.most_resident().filter(|resident| *resident < pages / 2) {
        Some(resident) => {
            format!("mostly reserved, not resident (peak RSS {} in all)", bytes(resident))
        }
        None => "more than its peak".to_owned(),
    };
    let mut text =
        format!("up to {} mapped outside the heap, {how}; allocations inside are not recorded", bytes(pages));
    // CPython keeps small objects in arenas of its own unless told otherwise.
    let names = loaded.tables.processes.iter().map(process_name);
    if names.zip(&loaded.profile.processes).any(|(name, process)| process.seen && name.starts_with("python"))
    {
        text += ". To see Python's objects, set PYTHONMALLOC=malloc";
    }
    Some(text)
}
