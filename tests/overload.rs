//! Rings that are too small: threads wait and nothing is lost, or what is lost is counted and shown.

use crate::harness::{Burst, c, record};

/// Check that with the smallest rings and waiting nothing is lost, and that the waits are reported.
#[test]
fn waiting_loses_nothing() {
    let program = c("frees_everything").flags(["-O2"]).build();
    let options = ["--ring-size", "4K", "--on-full", "block"];
    let (_, capture) = record(program).args(["4", "10000"]).options(options).succeed();
    assert!(capture.number("/totals/allocations") > 20_000);
    assert!(capture.number("/overhead/wait_ns") > 0);
    assert_eq!(capture.info()["options"]["ring_size"], "4096");
}

/// Check that with the smallest rings and dropping every event is either recorded or counted as lost, that views say
/// so, and that the target's exit code is its own.
#[test]
fn dropping_counts_what_is_lost() {
    const TIMES: u64 = 5000;
    let capture = Burst::of(TIMES, &["--ring-size", "4K", "--on-full", "drop"]).happen_unattended();
    let (kept, lost) = (capture.number("/totals/allocations"), capture.number("/lost/gap_allocations"));
    assert!(lost > TIMES / 2, "{lost} of {TIMES}");
    // One more comes after the burst.
    assert_eq!(kept + lost, TIMES + 1);
    assert_eq!(capture.number("/lost/events"), lost + capture.number("/lost/gap_frees"));
    assert!(capture.number("/lost/gaps") > 0);
    assert_eq!(capture.number("/lost/by_reason/0/events"), capture.number("/lost/events"));
    let reason = &capture.info()["lost"]["by_reason"][0];
    assert!(reason["advice"].as_str().is_some_and(|advice| advice.contains("--ring-size")), "{reason}");
    for command in [&["info"][..], &["report"], &["leaks"]] {
        let shown = capture.show(command);
        let text = format!("{}{}", shown.text(), shown.stderr);
        assert!(text.contains("lost"), "{command:?} does not speak of the loss: {text}");
    }
    // Nothing that may have been freed in the gap counts as leaked.
    assert_eq!(capture.number("/totals/leaked_blocks"), 0);
    assert_eq!(capture.number("/totals/unmatched_frees") + capture.number("/totals/conflicts"), 0);
}

/// Check that losses are counted when the target ends before there is room again.
#[test]
fn gap_at_the_end_is_counted() {
    const TIMES: u64 = 2000;
    let capture = Burst::of(TIMES, &["--ring-size", "4K", "--on-full", "drop"]).happen_and_end_unattended();
    let (kept, lost) = (capture.number("/totals/allocations"), capture.number("/lost/gap_allocations"));
    assert_eq!(kept + lost, TIMES + 1, "{:#}", capture.info()["lost"]);
    assert_eq!(capture.number("/lost/events"), lost + capture.number("/lost/gap_frees"));
    assert_eq!(capture.number("/processes/0/exit"), 6);
}

/// Check that a wait ends after the requested time, after which events are lost as with dropping.
#[test]
fn waits_have_an_end() {
    const TIMES: u64 = 400;
    let capture = Burst::of(TIMES, &["--ring-size", "4K", "--max-wait", "5ms"]).happen_unattended();
    assert!(capture.number("/lost/events") > 0);
    assert!(capture.number("/overhead/wait_ns") >= 5_000_000);
    let (kept, lost) = (capture.number("/totals/allocations"), capture.number("/lost/gap_allocations"));
    assert_eq!(kept + lost, TIMES + 1);
}

/// Check that a thread which begins while the ring of a thread that has ended is still full is recorded as itself,
/// and that what was lost before makes nothing uncertain that comes after.
#[test]
fn threads_begin_behind_full_rings() {
    const TIMES: u64 = 2000;
    let program = c("threads_in_turn").flags(["-O1", "-fno-builtin", "-pthread"]);
    let capture = Burst::by(&program, TIMES, &["--ring-size", "4K", "--on-full", "drop"]).happen_unattended();
    let info = capture.info();
    let events = capture.events();
    let of_size = |size| {
        let events = events.iter().filter(move |event| event.kind == "alloc" && event.size == size);
        events.map(|event| event.tid).collect::<Vec<_>>()
    };
    let (first, second) = (of_size(1200), of_size(1300));
    assert_eq!(second.len(), 100, "{:#}", info["lost"]);
    assert!(second.iter().all(|thread| *thread == second[0] && !first.contains(thread)));
    assert_eq!(first.len() as u64 + capture.number("/lost/gap_allocations"), TIMES, "{:#}", info["lost"]);
    let reasons = info["lost"]["by_reason"].as_array().expect("there is a list");
    let reasons: Vec<_> = reasons.iter().map(|reason| &reason["reason"]).collect();
    assert_eq!(reasons, ["ring_full"], "the ring of the thread before was full");
    assert_eq!(capture.number("/totals/leaked_blocks"), 100, "{:#}", info["totals"]);
}

/// Check that a program which resumes its recording while its ring is full is recorded once there is room.
#[test]
fn recordings_go_on_behind_full_rings() {
    let program = c("starts_when_full").with_api().flags(["-O1", "-fno-builtin"]);
    let capture = Burst::by(&program, 2000, &["--ring-size", "4K", "--on-full", "drop"]).happen_unattended();
    assert!(capture.number("/lost/events") > 0);
    // If the collector takes its time, there is no room for the first of them, either.
    let (leaked, lost) = (capture.number("/totals/leaked_blocks"), capture.number("/lost/gap_allocations"));
    assert_eq!(leaked + lost, 3, "{:#}", capture.info());
}
