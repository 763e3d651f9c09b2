//! Memory apart from the heap, where it exceeds the heap.

use crate::table::{Value, phrase};
use analysis::process_name;
use engine::Loaded;

/// What was mapped apart from the allocators, if that is more than the heap ever held.
pub(crate) fn outside_of_heap(loaded: &Loaded) -> Option<Value> {
    let pages = loaded.profile.own_pages.bytes;
    if pages <= loaded.profile.peak.held.bytes {
        return None;
    }
    // Many programs reserve terabytes of address space at start.
    let how = match loaded.most_resident().filter(|resident| *resident < pages / 2) {
        Some(resident) => {
            phrase!["mostly reserved, not resident (peak RSS ", Value::bytes(resident), " in all)"]
        }
        None => "more than its peak".into(),
    };
    // CPython keeps small objects in arenas of its own unless told otherwise.
    let mut names = loaded.tables.processes.iter().map(process_name).zip(&loaded.profile.processes);
    let of_python = match names.any(|(name, process)| process.seen && name.starts_with("python")) {
        true => ". To see Python's objects, set PYTHONMALLOC=malloc",
        false => "",
    };
    Some(phrase![
        "up to ",
        Value::bytes(pages),
        " mapped outside the heap, ",
        how,
        "; allocations inside are not recorded",
        of_python
    ])
}
