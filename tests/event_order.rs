//! Blocks that one thread allocates and another one ends, at once: whatever hands them over, none seems to be freed
//! before it was allocated.
//!
//! `scripts/frees-everything` does the same more often, with the agent that is installed, which is faster.

use crate::harness::{c, cpp, record, rust};
use std::path::Path;

/// How the program of these tests hands over.
const WAYS: [&str; 7] = ["mutex", "exchange", "queue", "ring", "place", "futex", "pipe"];
/// An allocator that gives no address to anybody but the thread that has freed it.
const KEEPS_ADDRESSES: &str = "glibc.malloc.tcache_count=65535";

/// Checks that no free is without its allocation, and that nothing of what is handed over is leaked.
fn check(program: &Path, arguments: &[&str], options: &[&str], tunables: &str) {
    let recording = record(program).args(arguments).options(options).env("GLIBC_TUNABLES", tunables);
    let (_, capture) = recording.succeed();
    let rows = capture.rows_by("allocations");
    let handed_over: Vec<_> = rows.iter().filter(|row| row.number("allocations") >= 1000).collect();
    assert!(!handed_over.is_empty(), "{arguments:?}");
    for row in handed_over {
        assert_eq!(row.number("leaked_blocks"), 0, "{arguments:?}, {tunables}: {:#}", row.value);
    }
}

/// Check that no way to hand a block over reverses its beginning and its end, whether or not an allocator uses
/// addresses again at once.
#[test]
fn no_block_ends_before_it_begins() {
    let program = c("hands_over_at_once").flags(["-O2"]).build();
    for way in WAYS {
        for tunables in ["", KEEPS_ADDRESSES] {
            check(&program, &[way, "10000", "0"], &[], tunables);
        }
    }
}

/// Check the same while other threads keep the processors busy, so that threads are interrupted in between.
#[test]
fn no_block_ends_before_it_begins_on_a_busy_machine() {
    let program = c("hands_over_at_once").flags(["-O2"]).build();
    for way in WAYS.into_iter().filter(|way| *way != "place") {
        check(&program, &[way, "2500", "2"], &[], "");
    }
}

/// Check the same for frees that are recorded with their stacks.
#[test]
fn no_free_with_a_stack_comes_before_its_allocation() {
    let program = c("hands_over_at_once").flags(["-O2"]).build();
    for way in ["ring", "place"] {
        check(&program, &[way, "10000", "0"], &["--free-stacks"], "");
    }
}

/// Check the same for a queue of C++ under a mutex, and for Rust's channels.
#[test]
fn queues_of_cpp_and_channels_of_rust_keep_their_order() {
    for tunables in ["", KEEPS_ADDRESSES] {
        check(&cpp("passes_by_queue").flags(["-O2"]).build(), &["5000"], &[], tunables);
        check(&rust("passes_by_channel").flags(["-O"]).build(), &["5000"], &[], tunables);
    }
}
