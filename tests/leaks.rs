//! What was freed is not leaked, whichever threads freed it in whichever order.

use crate::harness::{Capture, Row, c, cpp, record, repeat};
use std::path::Path;

/// True for blocks that the C and C++ libraries keep for themselves until the end.
fn is_of_libraries(row: &Row) -> bool {
    let module = row.frames.first().map_or("", |frame| frame.module.as_str());
    let name = Path::new(module).file_name().unwrap_or_default().to_string_lossy();
    let libraries = ["libc.so", "ld-linux", "libstdc++.so"];
    libraries.iter().any(|library| name.starts_with(library)) && !row.call.starts_with("operator new")
}

/// Checks that only libraries leak, and that all of it is explained by stacks.
fn assert_nothing_leaked(capture: &Capture) {
    let leaked = capture.rows_by("leaked");
    let bytes: u64 = leaked.iter().map(|row| row.number("leaked_bytes")).sum();
    assert_eq!(capture.info()["totals"]["leaked_bytes"], bytes);
    for row in &leaked {
        assert!(row.number("leaked_bytes") == 0 || is_of_libraries(row), "{:#}", row.value);
    }
}

/// Checks that a program which frees everything leaks nothing, each time.
fn check(program: &Path, threads: &str, steps: &str, arenas: Option<&str>) {
    repeat(|| {
        let mut recording = record(program).args([threads, steps]);
        if let Some(arenas) = arenas {
            recording = recording.env("MALLOC_ARENA_MAX", arenas);
        }
        assert_nothing_leaked(&recording.succeed().1);
    });
}

/// Check that one thread which frees everything leaks nothing.
#[test]
fn one_thread_that_frees_everything_leaks_nothing() {
    check(&c("frees_everything").flags(["-O2"]).build(), "1", "20000", None);
}

/// Check that blocks which pass between eight threads and are all freed do not leak.
#[test]
fn threads_that_free_everything_leak_nothing() {
    check(&c("frees_everything").flags(["-O2"]).build(), "8", "5000", None);
}

/// Check the same when all threads share one arena, so that an address passes from one to another at once.
#[test]
fn threads_of_one_arena_leak_nothing() {
    check(&c("frees_everything").flags(["-O2"]).build(), "8", "5000", Some("1"));
}

/// Check the same for C++ with containers and shared pointers.
#[test]
fn cpp_that_frees_everything_leaks_nothing() {
    check(&cpp("frees_everything").flags(["-O2"]).build(), "4", "2000", None);
}

/// Check that blocks which are not freed are leaked, block for block, with the stacks that allocated them.
#[test]
fn what_is_not_freed_is_leaked() {
    let (_, capture) = record(c("every_call").build()).with_names().succeed();
    let leaked = capture.rows_by("leaked");
    let blocks: u64 = leaked.iter().map(|row| row.number("leaked_blocks")).sum();
    let bytes: u64 = leaked.iter().map(|row| row.number("leaked_bytes")).sum();
    assert_eq!((blocks, bytes), (2, (4 << 30) + 16 + 600));
    assert!(leaked.iter().all(|row| row.frames[0].function == "main"), "{leaked:#?}");
    let shown = capture.show(&["leaks"]);
    assert!(shown.code == 0 && shown.text().contains("main"), "{}", shown.text());
}
