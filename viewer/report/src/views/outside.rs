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
    // These keep objects in pages of their own unless told otherwise.
    let hints = [
        ("python", ". To see Python's objects, set PYTHONMALLOC=malloc"),
        ("php", ". To see PHP's values, set USE_ZEND_ALLOC=0"),
    ];
    let mut names = loaded.tables.processes.iter().map(process_name).zip(&loaded.profile.processes);
    let hint = names.find_map(|(name, process)| {
        // Python without the lock (`python3.13t`) takes no other allocator.
        let is_fixed = name.starts_with("python") && name.ends_with('t');
        let hint = hints.iter().find(|(interpreter, _)| name.starts_with(interpreter) && !is_fixed);
        hint.filter(|_| process.seen).map(|(_, hint)| *hint)
    });
    Some(phrase![
        "up to ",
        Value::bytes(pages),
        " mapped outside the heap, ",
        how,
        "; allocations inside are not recorded",
        hint.unwrap_or_default()
    ])
}
