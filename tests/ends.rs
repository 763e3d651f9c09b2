//! Ends that wait for a scan: how soon processes go on, in which way they end, and that each is scanned.

use crate::harness::{Capture, Ran, Recording, c, record};
use capture::{Reader, Scan};
use std::path::Path;
use std::time::{Duration, Instant};

/// However busy the machine is, an end takes no longer: what waits in vain waits for a minute.
const SOON: Duration = Duration::from_secs(10);

fn scans(capture: &Capture) -> Vec<Scan> {
    Reader::open(capture.file()).expect("it is a capture").into_tables().scans
}

/// A recording that scans processes at their ends.
fn scanned(program: &Path) -> Recording {
    record(program).options(["--scan-at-exit", "--no-cpu"])
}

/// Runs it, which may not take long.
fn run_soon(recording: Recording, longest: Duration) -> (Ran, Capture) {
    let started = Instant::now();
    let (ran, capture) = recording.run();
    let took = started.elapsed();
    assert!(took < longest, "{took:?}: {}", ran.stderr);
    (ran, capture)
}

/// Check that a process which ends in a signal handler is scanned and goes on, also where the handler has interrupted an allocation, so
/// that the exit cannot be recorded.
#[test]
fn handlers_end_processes_soon() {
    let program = c("exits_in_a_handler").build();
    for microseconds in [10_000, 11_000, 12_500, 14_100, 16_700] {
        let (ran, capture) = run_soon(scanned(&program).arg(microseconds.to_string()), SOON);
        assert_eq!(ran.code, 7, "{}", ran.stderr);
        assert_eq!(scans(&capture).len(), 1);
    }
}

/// Check that a process ends with the code of whoever ends it first, though another thread wants to end it while it is scanned.
#[test]
fn whoever_ends_a_process_first_says_how() {
    let program = c("exits_twice").flags(["-O1", "-pthread"]).build();
    for _ in 0..20 {
        let (ran, capture) = run_soon(scanned(&program), SOON);
        assert_eq!(ran.code, 4, "{}", ran.stderr);
        let info = capture.info();
        assert_eq!((scans(&capture).len(), &info["remarks"]), (1, &serde_json::json!([])), "{info}");
    }
}

/// Check that many processes which end at once, or one after the other, wait for each other's searches only.
#[test]
fn many_ends_take_no_longer() {
    let program = c("keeps_one_in_eight").build();
    for way in ["&", ";"] {
        let script = format!("for i in $(seq 60); do {} {way} done; wait", program.display());
        let (ran, capture) = run_soon(scanned(Path::new("/bin/sh")).args(["-c", &script]), 2 * SOON);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let info = capture.info();
        // The shell, what it forks and what those become: each end is one, but an exec is none.
        assert!(scans(&capture).len() >= 61, "{} {info}", scans(&capture).len());
        assert_eq!(info["remarks"], serde_json::json!([]), "{info}");
    }
}
