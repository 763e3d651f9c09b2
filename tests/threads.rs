//! Threads that come and go, many at a time, up to their very last destructor.

use crate::harness::{c, cpp, library, record};
use std::collections::BTreeSet;

/// Check that everything that threads do is recorded, including destructors of thread-local values, and that their
/// rings are reused: memory is needed only for threads that live at the same time.
#[test]
fn threads_are_recorded_to_their_last_destructor() {
    let (_, capture) = record(c("many_threads").build()).succeed();
    for size in [300, 301, 302, 303] {
        let row = capture.row_of_size(size);
        let counts = (row.number("allocations"), row.number("frees"));
        assert_eq!(counts, (10_000, 10_000), "blocks of {size} bytes");
    }
    let events = capture.events();
    let tids = |kind: &str| -> BTreeSet<u64> {
        events.iter().filter(|event| event.kind == kind).map(|event| event.tid).collect()
    };
    assert!(tids("thread_start").is_superset(&tids("alloc")), "who allocates has started");
    let info = capture.info();
    assert_eq!(info["threads"], 10_001);
    let shared = info["overhead"]["shared_memory"].as_u64().unwrap_or(u64::MAX);
    // Rings of a mebibyte for 8 threads, and for as many again that begin while others end.
    assert!(shared < 16 << 20, "{shared} bytes of shared memory");
}

/// Check that hundreds of simultaneous threads are all recorded.
#[test]
fn hundreds_of_threads_at_once_are_recorded() {
    let (_, capture) = record(c("threads_at_once").build()).args(["300"]).succeed();
    let row = capture.row_of_size(400);
    assert_eq!((row.number("allocations"), row.number("frees")), (300, 300));
}

/// Check that threads are reported together as one process, and separately on request.
#[test]
fn threads_are_shown_apart_if_asked_for() {
    let (_, capture) = record(c("threads_at_once").build()).args(["10"]).with_names().succeed();
    assert_eq!(capture.info()["processes"].as_array().map(Vec::len), Some(1));
    let together = capture.rows_of_size(400);
    assert_eq!(together.iter().map(|row| row.number("allocations")).collect::<Vec<_>>(), [10]);
    let report = capture.report(&["--group-by", "thread", "--filter", "work", "--by", "bytes"]);
    let rows = report["rows"].as_array().expect("a list");
    assert_eq!(rows.len(), 10, "{rows:#?}");
    let mut names = BTreeSet::new();
    for row in rows {
        assert_eq!((&row["allocations"], &row["bytes"]), (&1.into(), &400.into()), "{row}");
        names.insert(row["stack"][0]["function"].as_str().unwrap_or_default());
    }
    // The name of a thread that is gone at once may be unknown; its number is not.
    assert!(names.iter().all(|name| name.contains(" of threads_at_once (")), "{names:?}");
    assert_eq!(names.len(), 10, "{names:?}");
}

/// Check that no event is missing because other threads record at the same moment.
#[test]
fn threads_in_lock_step_are_recorded() {
    let (_, capture) = record(c("lock_step").build()).succeed();
    let row = capture.row_of_size(777);
    assert_eq!((row.number("allocations"), row.number("frees")), (640_000, 640_000));
}

/// Check that destructors of C++ thread-local objects are recorded, and those of main.
#[test]
fn thread_local_objects_are_recorded_to_their_end() {
    let (_, capture) = record(cpp("thread_locals").build()).succeed();
    for size in [1701, 1702] {
        let rows = capture.rows_of_size(size);
        let sum = |field| rows.iter().map(|row| row.number(field)).sum::<u64>();
        assert_eq!((sum("allocations"), sum("frees")), (201, 201), "blocks of {size} bytes");
    }
}

/// Check that the agent needs no more stack than the smallest threads have.
#[test]
fn smallest_stacks_are_large_enough() {
    // Unoptimised code needs several times as much.
    let size = if cfg!(debug_assertions) { 1 << 16 } else { 0 };
    let (_, capture) = record(c("small_stacks").build()).args([size.to_string()]).succeed();
    for size in [1901, 1902] {
        let row = capture.row_of_size(size);
        assert_eq!((row.number("allocations"), row.number("frees")), (2000, 2000), "blocks of {size} bytes");
        assert_eq!(row.state, "complete");
    }
}

/// Check that blocks which a thread's last destructors grow stay the same blocks: none of them leaks.
#[test]
fn blocks_grow_in_last_destructors() {
    let (_, capture) = record(c("reallocates_in_destructors").build()).with_names().succeed();
    capture.assert_sound();
    let info = capture.info();
    assert_eq!(info["totals"]["unmatched_frees"], 0, "{:#}", info["totals"]);
    let rows = capture.rows();
    let grown = rows.iter().filter(|row| row.names().iter().any(|name| name == "grow"));
    let (allocations, frees) = grown.fold((0, 0), |(allocations, frees), row| {
        (allocations + row.number("allocations"), frees + row.number("frees"))
    });
    assert_eq!((allocations, frees), (200, 200));
    let first = capture.row_of_size(2100);
    assert_eq!((first.number("allocations"), first.number("frees")), (50, 50));
}

/// With rings of this size there are so few that 32 threads get one each.
const FEW_RINGS: [&str; 2] = ["--ring-size", "1G"];

/// Check that rings of threads whose first event comes after their last destructor are given back.
#[test]
fn threads_that_begin_at_their_end_give_rings_back() {
    let program = c("detached_threads").flags(["-O1", "-pthread"]).build();
    let (_, capture) = record(program).arg("200").options(FEW_RINGS).succeed();
    assert!(capture.number("/threads") > 32, "{:#}", capture.info()["threads"]);
}

/// Check that rings are given back by threads whose recording was stopped in the middle of their last `realloc`.
#[test]
fn rings_of_broken_reallocs_go_back() {
    let allocator = library("realloc_that_waits").build();
    let program =
        c("stops_within_realloc").with_api().with(&allocator).flags(["-O1", "-fno-builtin", "-pthread"]);
    let (ran, capture) = record(program.build()).arg("40").options(FEW_RINGS).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(capture.number("/lost/events"), 0, "{:#}", capture.info()["lost"]);
    assert_eq!(capture.number("/threads"), 41);
    assert_eq!(capture.number("/totals/unmatched_frees"), 0, "{:#}", capture.info()["totals"]);
}
