//! Rings that are too small: threads wait and nothing is lost, or what is lost is counted and shown.

use crate::harness::{Page, World, c, record, wait_for};
use rustix::process::Signal;

/// Check that with the smallest rings and waiting nothing is lost, and that the waits are told.
#[test]
fn waiting_loses_nothing() {
    let program = c("frees_everything").flags(["-O2"]).build();
    let options = ["--ring-size", "4K", "--on-full", "block"];
    let (_, capture) = record(program).args(["4", "10000"]).options(options).succeed();
    let info = capture.info();
    assert!(info["totals"]["allocations"].as_u64() > Some(20_000));
    assert!(info["overhead"]["wait_ns"].as_u64() > Some(0), "{:#}", info["overhead"]);
    assert_eq!(info["options"]["ring_size"], "4096");
}

/// Check that with the smallest rings and dropping every event is either there or counted as lost, that views say
/// so, and that the target's exit code is its own.
#[test]
fn dropping_counts_what_is_lost() {
    const TIMES: u64 = 5000;
    let world = World::new();
    let page = Page::new(&world);
    let program = c("burst").flags(["-O1"]).build();
    let recording = record(program).arg(&page.path).args([TIMES.to_string()]).world(world);
    let recording = recording.options(["--ring-size", "4K", "--on-full", "drop"]);
    let running = recording.start();
    page.pid();
    // Nobody empties the rings, so most of it is lost.
    running.signal(Signal::STOP);
    page.go();
    wait_for("the burst", || page.is_done());
    running.signal(Signal::CONT);
    page.stop();
    let ran = running.wait();
    assert_eq!(ran.code, 6);

    let capture = recording.capture();
    let info = capture.info();
    let number = |path: &str| info.pointer(path).and_then(serde_json::Value::as_u64).unwrap_or(0);
    let (kept, lost) = (number("/totals/allocations"), number("/lost/gap_allocations"));
    assert!(lost > TIMES / 2, "{lost} of {TIMES}");
    // One more comes behind the burst.
    assert_eq!(kept + lost, TIMES + 1);
    assert_eq!(number("/lost/events"), lost + number("/lost/gap_frees"));
    assert!(number("/lost/gaps") > 0);
    let reason = &info["lost"]["by_reason"][0];
    assert_eq!(reason["events"], number("/lost/events"));
    assert!(reason["advice"].as_str().is_some_and(|advice| advice.contains("--ring-size")), "{reason}");
    for command in [&["info"][..], &["report"], &["leaks"]] {
        let shown = capture.show(command);
        let text = format!("{}{}", shown.text(), shown.stderr);
        assert!(text.contains("lost"), "{command:?} does not speak of the loss: {text}");
    }
    // Nothing is said to be leaked that may have been freed in the gap.
    assert_eq!(number("/totals/leaked_blocks"), 0);
    assert_eq!(number("/totals/unmatched_frees") + number("/totals/conflicts"), 0);
}

/// Check that what was lost is counted when the target ends before there is room again.
#[test]
fn gap_at_the_end_is_counted() {
    let world = World::new();
    let page = Page::new(&world);
    let program = c("burst").flags(["-O1"]).build();
    let recording = record(program).arg(&page.path).args(["2000"]).world(world);
    let recording = recording.options(["--ring-size", "4K", "--on-full", "drop"]);
    let running = recording.start();
    let target = page.pid();
    running.signal(Signal::STOP);
    page.go();
    page.stop();
    // A process that nobody has waited for yet is Z.
    wait_for("the target's end", || {
        std::fs::read_to_string(format!("/proc/{target}/stat")).is_ok_and(|stat| stat.contains(") Z "))
    });
    running.signal(Signal::CONT);
    assert_eq!(running.wait().code, 6);
    let info = recording.capture().info();
    let number = |path: &str| info.pointer(path).and_then(serde_json::Value::as_u64).unwrap_or(0);
    assert_eq!(number("/totals/allocations") + number("/lost/gap_allocations"), 2001, "{:#}", info["lost"]);
    assert_eq!(number("/lost/events"), number("/lost/gap_allocations") + number("/lost/gap_frees"));
    assert_eq!(number("/processes/0/exit"), 6);
}

/// Check that a wait has the end that was asked for, after which events are lost as with dropping.
#[test]
fn waits_have_an_end() {
    let world = World::new();
    let page = Page::new(&world);
    let program = c("burst").flags(["-O1"]).build();
    let recording = record(program).arg(&page.path).args(["400"]).world(world);
    let recording = recording.options(["--ring-size", "4K", "--max-wait", "5ms"]);
    let running = recording.start();
    page.pid();
    running.signal(Signal::STOP);
    page.go();
    wait_for("the burst", || page.is_done());
    running.signal(Signal::CONT);
    page.stop();
    assert_eq!(running.wait().code, 6);
    let info = recording.capture().info();
    let number = |path: &str| info.pointer(path).and_then(serde_json::Value::as_u64).unwrap_or(0);
    assert!(number("/lost/events") > 0 && number("/overhead/wait_ns") >= 5_000_000, "{info:#}");
    assert_eq!(number("/totals/allocations") + number("/lost/gap_allocations"), 401);
}
