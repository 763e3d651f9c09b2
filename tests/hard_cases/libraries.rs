//! Libraries that interfere, and libraries that get past us.

use super::super::harness::{c, installed, library, record, skip};
use std::path::{Path, PathBuf};

/// The path of a library that the system has, by its name.
pub(super) fn system_library(name: &str) -> Option<PathBuf> {
    let folders = ["/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"];
    let paths = folders
        .iter()
        .flat_map(|folder| [Path::new(folder).join(name), Path::new(folder).join("faketime").join(name)]);
    paths.into_iter().find(|path| path.exists())
}

/// Check that programs work and are recorded behind other interposing libraries, and before allocators.
#[test]
fn other_preloaded_libraries_work() {
    let libraries = [
        "libfaketime.so.1",
        "libeatmydata.so",
        "libjemalloc.so.2",
        "libtcmalloc.so.4",
        "libtcmalloc_minimal.so.4",
        "libmimalloc.so.2",
    ];
    for name in libraries {
        let Some(path) = system_library(name) else {
            skip(name, "not installed");
            continue;
        };
        let recording = record(c("known_allocations").flags(["-O1"]).build());
        let (_, capture) = recording.env("LD_PRELOAD", &path).env("FAKETIME", "-1d").succeed();
        assert!(capture.info()["totals"]["allocations"].as_u64() > Some(0), "{name}");
        if installed("date").is_some() && name.contains("faketime") {
            let recording = record("date").arg("+%Y").env("LD_PRELOAD", &path);
            let (ran, _) = recording.env("FAKETIME", "@2001-02-03 04:05:06").succeed();
            assert_eq!(ran.text(), "2001\n");
        }
    }
}

/// Check that one sentence with its path says when a library that binds past everybody else has an allocator of its
/// own, which is not recorded, and that none does for any other library.
#[test]
fn deeply_bound_allocators_are_said() {
    let program = c("opens_deeply").build();
    for (library, is_said) in
        [(library("brings_its_malloc").build(), true), (library("lends_and_takes").build(), false)]
    {
        let (ran, capture) = record(&program).arg(&library).run();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let remarks = capture.info()["remarks"].to_string();
        let is_told = remarks.contains("RTLD_DEEPBIND") && remarks.contains(&*library.to_string_lossy());
        assert_eq!(is_told, is_said, "{remarks}");
        assert_eq!(capture.row_of_size(2803).number("frees"), 1);
        assert_eq!(capture.number("/totals/unmatched_frees"), 0);
        assert_eq!(capture.info()["marks"].as_array().map(Vec::len), Some(0), "it is no mark");
    }
}

/// Check that a library which binds past everybody else is recorded like any other, whether its words are filled in
/// when it is opened or at the first calls, and sealed or not; and that a library which only the loader can find, by
/// its bare name, can free what it gets.
#[test]
fn deeply_bound_libraries_are_recorded() {
    for (binding, flags) in
        [("RTLD_NOW", "-Wl,-z,lazy"), ("RTLD_LAZY", "-Wl,-z,lazy"), ("RTLD_LAZY", "-Wl,-z,now")]
    {
        let program = c("binds_deeply").flags([format!("-DBINDING={binding}")]).build();
        let library = library("lends_and_takes").flags([flags]).build();
        let (ran, capture) = record(program).arg(library).run();
        assert_eq!((ran.code, ran.text()), (0, "freed\n"), "{}", ran.stderr);
        capture.assert_sound();
        for size in [2801, 2802, 2803] {
            let row = capture.row_of_size(size);
            let numbers = (row.number("allocations"), row.number("frees"));
            assert_eq!(numbers, (100, 100), "{size} {binding} {flags}");
        }
    }
    let library = library("lends_and_takes").named("liblends_and_takes.so").build();
    let program = c("binds_deeply").build();
    let folder = library.parent().expect("it lies in a folder");
    let (ran, capture) = record(program).env("LD_LIBRARY_PATH", folder).arg("liblends_and_takes.so").run();
    assert_eq!((ran.code, ran.text()), (0, "freed\n"), "{}", ran.stderr);
    let row = capture.row_of_size(2803);
    assert_eq!((row.number("allocations"), row.number("frees")), (100, 100));
    assert_eq!(capture.row_of_size(2802).number("allocations"), 100);
    let info = capture.info();
    assert_eq!(info["totals"]["unmatched_frees"], 100, "{:#}", info["totals"]);
    assert!(capture.rows_of_size(2801).is_empty());
    assert_eq!(info["lost"]["events"], 0);
}
