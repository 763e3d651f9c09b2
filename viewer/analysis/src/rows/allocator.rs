//! CPU time in the allocator by calling function: combines the samples and the allocations of a capture.

use crate::base::cost::{Amount, Cost};
use crate::base::order::natural;
use crate::count::profile::Profile;
use crate::names::agent_library::is_agents;
use crate::names::frames::functions_of;
use crate::names::table::{Kind, LabelId, Names};
use capture::Tables;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Path of its heap hooks. `malloc` itself is a tail jump to them, and so on no stack.
const HOOKS: &str = "sysprof_memprof_preload::hooks::heap::";

/// The time that a function spends in the allocator, and what it gets for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocatorTime {
    /// Samples in `malloc` and its like, including all that these call.
    pub allocate: Amount,
    /// The same for `free` and its like.
    pub free: Amount,
    /// Of both, the samples in the hooks of the recording itself.
    pub hooks: Amount,
    /// Allocations by the same function.
    pub allocated: Amount,
}

impl AllocatorTime {
    /// All samples.
    pub fn total(&self) -> Amount {
        self.allocate + self.free
    }
}

/// One of the allocator's two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Allocate,
    Free,
}

/// The side of the allocator that a function belongs to, by its name.
fn end_of(name: &str) -> Option<End> {
    match name {
        "malloc" | "calloc" | "realloc" | "reallocarray" | "posix_memalign" | "aligned_alloc"
        | "memalign" | "valloc" | "pvalloc" | "__libc_malloc" | "__libc_calloc" | "__libc_realloc"
        | "__libc_memalign" => Some(End::Allocate),
        "free" | "cfree" | "__libc_free" | "free_sized" | "free_aligned_sized" => Some(End::Free),
        name if name.starts_with(HOOKS) => {
            Some(if name.contains("release") || name.contains("free") { End::Free } else { End::Allocate })
        }
        name if name.starts_with("operator new") => Some(End::Allocate),
        name if name.starts_with("operator delete") => Some(End::Free),
        _ => None,
    }
}

/// Each function that calls the allocator, the one whose calls take longest first.
///
/// The outermost allocator function on a stack decides, so `free` within `realloc` counts as the `realloc` that was
/// called. The row is the caller of that function.
pub fn allocator_time(profile: &Profile, tables: &Tables, names: &Names) -> Vec<(LabelId, AllocatorTime)> {
    let ends: Vec<Option<End>> = (0..names.len())
        .map(|index| {
            match names.label(LabelId(index as u32)).kind {
                // Without what tells namesakes apart: allocators contain some.
                Kind::Function(name, _) => end_of(tables.string(name)),
                _ => None,
            }
        })
        .collect();
    let mut rows: HashMap<LabelId, AllocatorTime> = HashMap::new();
    for site in &profile.sites {
        let Cost { allocated, cpu, .. } = site.cost;
        if !allocated.is_zero() {
            // The innermost function on an allocation's stack is the caller of the allocator.
            let caller =
                functions_of(tables, names, site.node).find(|(_, step)| ends[step.label.index()].is_none());
            let caller = caller.map_or(LabelId::EVERYTHING, |(_, step)| step.label);
            rows.entry(caller).or_default().allocated += allocated;
        }
        if cpu.is_zero() {
            continue;
        }
        let mut found = None;
        let mut is_hook = false;
        for (place, (frame, step)) in functions_of(tables, names, site.node).enumerate() {
            if place == 0 {
                is_hook = is_of_agent(tables, frame);
            }
            match (ends[step.label.index()], &mut found) {
                (Some(end), found) => *found = Some((end, None)),
                (None, Some((_, caller @ None))) => *caller = Some(step.label),
                (None, _) => {}
            }
        }
        if let Some((end, caller)) = found {
            let row = rows.entry(caller.unwrap_or(LabelId::EVERYTHING)).or_default();
            *(if end == End::Allocate { &mut row.allocate } else { &mut row.free }) += cpu;
            if is_hook {
                row.hooks += cpu;
            }
        }
    }
    let mut rows: Vec<_> = rows.into_iter().filter(|(_, row)| !row.total().is_zero()).collect();
    rows.sort_by(|(a, left), (b, right)| {
        let order = |row: &AllocatorTime| Reverse((row.total().blocks, row.allocated.blocks));
        order(left).cmp(&order(right)).then_with(|| natural(&names.label(*a).name, &names.label(*b).name))
    });
    rows
}

/// True for code of the recording's own library.
fn is_of_agent(tables: &Tables, frame: capture::FrameId) -> bool {
    let Some(capture::Frame::Code { module: Some(module), .. }) = tables.frames.get(frame.index()) else {
        return false;
    };
    tables.modules.get(module.index()).is_some_and(|module| is_agents(&module.path))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check which functions belong to the allocator, and that similar names do not.
    #[test]
    fn ends_are_known_by_name() {
        for (name, expected) in [
            ("malloc", Some(End::Allocate)),
            ("operator new[](unsigned long)", Some(End::Allocate)),
            ("free", Some(End::Free)),
            ("operator delete(void*)", Some(End::Free)),
            ("sysprof_memprof_preload::hooks::heap::allocate_candidate", Some(End::Allocate)),
            ("sysprof_memprof_preload::hooks::heap::release_recorded", Some(End::Free)),
            ("free_list", None),
            ("xmalloc", None),
            ("main", None),
        ] {
            assert_eq!(end_of(name), expected, "{name}");
        }
    }
}
