//! Allocators inside a program, which a preloaded agent cannot see.

use std::path::Path;

/// Functions that only a statically linked allocator defines, and whose allocator that is. The Rust crates
/// `tikv-jemallocator` and `mimalloc` bring the first two kinds.
const STATIC: &[(&[u8], &str)] = &[
    (b"_rjem_malloc", "jemalloc"),
    (b"je_malloc", "jemalloc"),
    (b"mi_malloc", "mimalloc"),
    (b"tc_malloc", "tcmalloc"),
    (b"TCMallocInternalMalloc", "tcmalloc"),
    (b"sn_malloc", "snmalloc"),
    (b"sn_rust_alloc", "snmalloc"),
    (b"rpmalloc", "rpmalloc"),
];

/// What was found in one program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Allocators {
    /// A statically linked allocator: its name and the function that gave it away.
    pub(super) linked: Option<(&'static str, &'static str)>,
    /// The program exports `malloc`, which comes before any library's.
    pub(super) exports_malloc: bool,
    /// A sanitizer's runtime is linked into the program.
    pub(super) sanitizer: bool,
}

/// Notes what a function that the program defines says about its allocators; `exported` ones are those that the
/// dynamic loader sees.
pub(super) fn note(found: &mut Allocators, function: &[u8], exported: bool) {
    match function {
        b"malloc" => found.exports_malloc |= exported,
        b"__asan_init" | b"__tsan_init" | b"__msan_init" | b"__lsan_init" => found.sanitizer = true,
        _ => {
            let known = STATIC.iter().find(|(name, _)| *name == function);
            if let Some((name, allocator)) = known
                && found.linked.is_none()
            {
                found.linked = std::str::from_utf8(name).ok().map(|name| (*allocator, name));
            }
        }
    }
}

/// One sentence for each finding that makes allocations invisible.
pub(super) fn remarks(found: &Allocators, program: &Path) -> Vec<String> {
    let program = program.display();
    if let Some((allocator, function)) = found.linked {
        return vec![format!(
            "{program} contains its own {allocator} ({function}): what is allocated through it is not recorded. \
             To see it, build the program with the system's allocator, or link {allocator} dynamically."
        )];
    }
    if found.exports_malloc {
        return vec![format!(
            "{program} defines its own malloc: what is allocated through it is not recorded. To see it, build the \
             program with the system's allocator, or move its malloc into a library."
        )];
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(functions: &[(&str, bool)]) -> Allocators {
        let mut found = Allocators::default();
        for (function, exported) in functions {
            note(&mut found, function.as_bytes(), *exported);
        }
        found
    }

    /// Check that each allocator is told by its own functions, and an own malloc only when the loader sees it.
    #[test]
    fn allocators_are_told_by_their_functions() {
        let cases: &[(&[(&str, bool)], &str)] = &[
            (&[("main", false), ("my_malloc", true)], ""),
            (&[("_rjem_malloc", false)], "its own jemalloc (_rjem_malloc)"),
            (&[("mi_malloc", true), ("malloc", true)], "its own mimalloc (mi_malloc)"),
            (&[("tc_malloc", false)], "its own tcmalloc"),
            (&[("malloc", true)], "defines its own malloc"),
            (&[("malloc", false)], ""),
        ];
        for (functions, expected) in cases {
            let text = remarks(&found(functions), Path::new("./app")).join("\n");
            assert!(text.contains(expected), "{functions:?}: {text}");
            assert_eq!(text.is_empty(), expected.is_empty(), "{functions:?}: {text}");
        }
    }
}
