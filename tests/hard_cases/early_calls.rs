//! Calls that come before anything is ready.

use super::super::harness::{World, agent, c, copy_program, installed, library, record, skip};

/// Check that the very first calls, which a library's constructor makes before the agent's own runs, are served and
/// recorded: aligned, zeroed, resized, and through names that `dlsym` finds. Their stacks begin in the dynamic
/// loader.
#[test]
fn first_calls_are_served() {
    let first = library("allocates_first").build();
    let (ran, capture) = record(c("allocates_once").build()).env("LD_PRELOAD", &first).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    capture.assert_sound();
    for (size, call, frees) in [
        (2901, "posix_memalign", 0),
        (2910, "calloc", 1),
        (2912, "realloc", 1),
        (2913, "calloc", 1),
        (1001, "malloc", 1),
    ] {
        let row = capture.row_of_size(size);
        assert_eq!((row.call.as_str(), row.number("frees")), (call, frees), "{size}");
        assert_eq!(row.state, "complete", "{size}: {:?}", row.frames);
    }
}

/// Check that what a program allocates before any library begins is recorded, and not told as freed without having been
/// allocated; and that nothing of it is recorded when it begins paused.
#[test]
fn calls_before_all_constructors_are_recorded() {
    let program = c("allocates_before_libraries_begin").build();
    let (_, capture) = record(&program).succeed();
    for size in [2601, 2602, 2603] {
        let row = capture.row_of_size(size);
        assert_eq!((row.number("allocations"), row.number("frees")), (1, 1), "{row:?}");
    }
    assert_eq!(capture.number("/totals/unmatched_frees"), 0);
    let (_, capture) = record(&program).options(["--paused"]).succeed();
    assert_eq!(capture.number("/totals/allocations"), 0);
}

/// Check that a program with two copies of the agent, from different paths, is recorded once, and so are its children.
#[test]
fn two_copies_of_the_agent_record_once() {
    let world = World::new();
    let copy = world.path("libsysprof_memprof_preload.so");
    copy_program(agent(&world), &copy);
    let program = c("allocates_once").build();
    let script = format!("{0}; {0}", program.display());
    for (command, arguments, calls) in
        [(program.as_os_str(), &[][..], 1), ("sh".as_ref(), &["-c", &script], 2)]
    {
        let (_, capture) = record(command).args(arguments).env("LD_PRELOAD", &copy).succeed();
        let rows = capture.rows_of_size(1001);
        let sum = |field| rows.iter().map(|row| row.number(field)).sum::<u64>();
        assert_eq!((sum("allocations"), sum("frees")), (calls, calls), "{rows:?}");
        assert_eq!(capture.info()["lost"]["events"], 0);
    }
}

/// Check that a program whose loading is watched by an audit library is recorded. What that library allocates, in a
/// libc of its own, is not the program's.
#[test]
fn audited_programs_are_recorded() {
    let audit = library("watches_the_loader").build();
    let (_, capture) = record(c("allocates_once").build()).env("LD_AUDIT", audit).succeed();
    assert_eq!(capture.row_of_size(1001).number("allocations"), 1);
    assert!(capture.rows_of_size(3001).is_empty() && capture.rows_of_size(3002).is_empty());
}

/// Check that a program runs and is recorded in valgrind, which gives it no vDSO although the process has one.
#[test]
fn programs_in_valgrind_are_recorded() {
    let Some(valgrind) = installed("valgrind") else {
        return skip("a program without a vDSO", "valgrind is not installed");
    };
    let program = c("allocates_once").build();
    let recording = record(valgrind).arg("-q").arg("--tool=none").arg(program);
    let (ran, capture) = recording.run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(capture.row_of_size(1001).number("allocations"), 1);
}
