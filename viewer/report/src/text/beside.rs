//! Memory apart from the heap, where it exceeds the heap.

use super::style::{Role, Style};
use analysis::format::bytes;
use analysis::process_name;
use capture::ProcessId;
use engine::Loaded;
use std::io::{self, Write};

/// Writes a line if more pages were mapped apart from the allocators than the heap ever held.
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
    // Many programs reserve terabytes of address space at start.
    let how = match most_resident(loaded).filter(|resident| *resident < pages / 2) {
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

/// The most that was resident in all processes that allocated, as far as is known; `None` if one of them was not
/// sampled.
fn most_resident(loaded: &Loaded) -> Option<i64> {
    let seen = loaded.profile.processes.iter().enumerate().filter(|(_, process)| process.seen);
    let mut peaks = seen.map(|(index, _)| loaded.peak_rss(ProcessId::from_index(index)));
    let sum = peaks.try_fold(0_u64, |sum, peak| Some(sum.saturating_add(peak?.bytes)))?;
    Some(i64::try_from(sum).unwrap_or(i64::MAX))
}
