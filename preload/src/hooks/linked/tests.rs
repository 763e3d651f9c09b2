use super::*;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Functions of the families that are not hooked, by the beginnings of their names, and why.
const OTHERWISE: [(&str, &str); 28] = [
    ("xallocx", "resizes in place: the block stays, with the size that it was allocated with"),
    ("mi_expand", "as above"),
    ("mi__expand", "as above"),
    ("nallocx", "only says how large a block would be"),
    ("sallocx", "only says how large a block is"),
    ("tc_nallocx", "only says how large a block would be"),
    ("tc_malloc_size", "only says how large a block is"),
    ("tc_mall", "settings and numbers"),
    ("tc_query_new_mode", "a setting"),
    ("tc_set_new_mode", "a setting"),
    ("tc_version", "a number"),
    ("mi_realpath", "calls mi_malloc or libc"),
    ("mi_heap_realpath", "as above"),
    ("mi_wcsdup", "calls mi_malloc"),
    ("mi_mbsdup", "calls mi_strdup"),
    ("mi_dupenv_s", "calls mi_strdup"),
    ("mi_wdupenv_s", "is for Windows, and returns an error"),
    ("mi_usable_size", "only says how large a block is"),
    ("mi_good_size", "only says how large a block would be"),
    ("mi_malloc_", "only say how large a block is or would be"),
    ("mi_heap_", "makes, ends, visits or names a heap, whose blocks stay, or end without a call for each"),
    ("mi_is_", "a question"),
    ("mi_check_owned", "a question"),
    ("mi_option_", "a setting"),
    ("mi_stats_", "numbers"),
    ("mi_register_", "a setting"),
    ("mi_reserve_", "reserves memory of the system's for heaps"),
    ("mi_", "settings, threads, numbers and memory of the system's"),
];

/// Names in `OTHERWISE` that are only beginnings: no function that allocates or frees may hide behind them.
const VERBS: [&str; 8] = ["alloc", "free", "new", "dup", "calloc", "expand", "delete", "destroy"];

/// Heaps that end, which no hook sees block by block, and functions that are named like others but do none of that.
const HARMLESS: [&str; 11] = [
    "mi_heap_new",
    "mi_heap_new_ex",
    "mi_heap_new_in_arena",
    "mi_heap_delete",
    "mi_heap_destroy",
    "mi_malloc_size",
    "mi_malloc_good_size",
    "mi_malloc_usable_size",
    "mi_register_deferred_free",
    "tc_malloc_size",
    "tc_malloc_stats",
];

/// What a library exports.
fn exported(path: &Path) -> BTreeSet<String> {
    let mut nm = Command::new("nm");
    nm.args(["--dynamic", "--defined-only", "--format=just-symbols"]).arg(path);
    let listed = nm.output().expect("nm is there, as a linker is");
    String::from_utf8_lossy(&listed.stdout)
        .lines()
        .map(|name| name.split('@').next().unwrap().into())
        .collect()
}

/// Check that each function of the libraries of jemalloc, tcmalloc and mimalloc that allocates or frees is hooked, or
/// on a list with the reason why not.
#[test]
fn families_are_hooked_whole() {
    let mut hooked = BTreeSet::new();
    linked_functions(&mut |function| {
        hooked.insert(function.name.to_str().unwrap());
    });
    linked_others(&mut |function| {
        hooked.insert(function.name.to_str().unwrap());
    });
    for library in ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libtcmalloc.so.4", "libmimalloc.so.2"] {
        let path = Path::new("/usr/lib/x86_64-linux-gnu").join(library);
        if !path.exists() {
            println!("skipped: the functions of {library} (not installed)");
            continue;
        }
        for name in exported(&path) {
            let is_of_family = name.starts_with("tc_") || name.starts_with("mi_") || name.ends_with("allocx");
            if !is_of_family || hooked.contains(name.as_str()) {
                continue;
            }
            let (beginning, reason) = OTHERWISE
                .iter()
                .find(|(beginning, _)| name.starts_with(beginning))
                .unwrap_or_else(|| panic!("{name} of {library} is neither hooked nor on the list"));
            let is_named = name == *beginning || HARMLESS.contains(&name.as_str());
            let may_act = VERBS.iter().any(|verb| name.contains(verb));
            assert!(is_named || !may_act, "{name} of {library} is not {beginning}: {reason}");
        }
    }
}

/// Check that each row's index is its place, that no two rows have one name, and that rows of libraries have names that
/// no other library has.
#[test]
fn rows_are_distinct() {
    let names: Vec<_> = OTHERS.iter().map(|other| other.name.to_str().unwrap()).collect();
    let distinct: BTreeSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), names.len());
    assert!(names.len() + NAMES_OF_MALLOC <= crate::redirect::linked::PLACES, "{}", names.len());
    let of_libraries = &names[OF_LIBRARIES];
    assert!(of_libraries.iter().all(|name| {
        ["mi_", "tc_"].iter().any(|family| name.starts_with(family)) || name.ends_with("allocx")
    }));
    assert_eq!(names[BESIDE_MALLOC..], ["strdup", "strndup"]);
}

/// Functions of [`HEAP`], and forms of `new` and `delete` under two names.
const NAMES_OF_MALLOC: usize = HEAP.len() + 40;
