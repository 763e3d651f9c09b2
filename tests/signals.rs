//! Hooks in signal handlers, which may interrupt a hook.

use crate::harness::{Capture, c, library, record};

/// Allocations of this size.
fn count(capture: &Capture, size: u64) -> u64 {
    capture.rows_of_size(size).iter().map(|row| row.number("allocations")).sum()
}

/// Check that a program whose signal handler allocates a thousand times a second runs on, and that every call is
/// recorded, or counted as lost if the handler had interrupted a hook.
#[test]
fn handlers_that_allocate_are_recorded_or_counted() {
    let allocator = library("signal_safe_allocator").build();
    let program = c("signal_storm").flags(["-O1"]).with(&allocator).build();
    // However busy the machine is, nothing is lost for want of room.
    let waits = ["--on-full", "block", "--max-wait", "100s"];
    let (ran, capture) = record(program).options(waits).args(["1000"]).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let said: Vec<u64> = ran.text().split_whitespace().map(|word| word.parse().unwrap_or(0)).collect();
    let [in_main, in_handler] = said[..] else { panic!("{}", ran.text()) };
    let info = capture.info();
    let lost = info["lost"]["gap_allocations"].as_u64().unwrap_or(0);
    assert_eq!(count(&capture, 1300), in_main);
    assert_eq!(count(&capture, 1301) + lost, in_handler, "{:#}", info["lost"]);
    assert_eq!(info["overhead"]["agent_allocations"], 0);
    let reasons = info["lost"]["by_reason"].as_array().map_or(0, Vec::len);
    assert_eq!(reasons, usize::from(lost > 0), "{:#}", info["lost"]);
    assert!(capture.rows().iter().all(|row| row.state == "complete"));
}

/// Check that a program that signals interrupt from before the agent's constructor on is recorded completely: while
/// it asks to join, while its threads begin, and in every hook.
#[test]
fn joining_is_not_interrupted() {
    let allocator = library("signal_blocking_allocator").build();
    let signals = library("signals_from_the_start").with(&allocator).build();
    let program = c("interrupted_often").flags(["-O1"]).with(&signals).with(&allocator).build();
    let (ran, capture) = record(program).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let in_threads: u64 = ran.text().trim().parse().expect("a number of calls");
    assert_eq!(count(&capture, 1400), in_threads);
    let info = capture.info();
    let reasons = info["lost"]["by_reason"].as_array().expect("a list");
    assert!(reasons.iter().all(|lost| lost["reason"] == "nested"), "{reasons:#?}");
    assert_eq!(info["overhead"]["agent_allocations"], 0);
}
