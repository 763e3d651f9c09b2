//! Allocators built into a program, and sanitizers.

use std::path::Path;

/// Functions defined only by statically linked allocators that the agent does not know, and the allocator's name.
const STATIC: &[(&[u8], &str)] = &[
    (b"TCMallocInternalMalloc", "tcmalloc"),
    (b"sn_malloc", "snmalloc"),
    (b"sn_rust_alloc", "snmalloc"),
    (b"rpmalloc", "rpmalloc"),
];

/// What was found in one program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Allocators {
    /// A statically linked allocator: its name and the function that identified it.
    pub(super) linked: Option<(&'static str, &'static str)>,
    /// The program exports `malloc`, which takes precedence over any library's; the agent redirects it to itself.
    pub(super) exports_malloc: bool,
    /// A sanitizer runtime is linked into the program.
    pub(super) sanitizer: bool,
}

/// Notes what a function defined by the program says about its allocators; the dynamic loader sees the `exported`
/// ones.
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

/// One sentence for each finding that hides allocations.
pub(super) fn remarks(found: &Allocators, program: &Path) -> Vec<String> {
    let program = program.display();
    if let Some((allocator, function)) = found.linked.filter(|_| !found.exports_malloc) {
        return vec![format!(
            "{program} contains its own {allocator} ({function}), whose allocations are not recorded. To \
             see them, build the program with the system's allocator, or link {allocator} dynamically."
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

    /// Check that each allocator unknown to the agent is identified by its own functions, and exported ones are not
    /// reported.
    #[test]
    fn allocators_are_told_by_their_functions() {
        let cases: &[(&[(&str, bool)], &str)] = &[
            (&[("main", false), ("my_malloc", true)], ""),
            (&[("TCMallocInternalMalloc", false)], "its own tcmalloc"),
            (&[("TCMallocInternalMalloc", true), ("malloc", true)], ""),
            (&[("rpmalloc", false), ("malloc", false)], "its own rpmalloc (rpmalloc)"),
            (&[("_rjem_malloc", false)], ""),
            (&[("malloc", true)], ""),
            (&[("malloc", false)], ""),
        ];
        for (functions, expected) in cases {
            let text = remarks(&found(functions), Path::new("./app")).join("\n");
            assert!(text.contains(expected), "{functions:?}: {text}");
            assert_eq!(text.is_empty(), expected.is_empty(), "{functions:?}: {text}");
        }
    }
}
