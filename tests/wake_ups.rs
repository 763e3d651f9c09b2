//! The collector sleeps until waking is worthwhile.

use crate::harness::{Burst, wait_for};
use rustix::process::Pid;
use std::time::{Duration, Instant};

/// How often threads of a process went to sleep so far, and the CPU time of all of them.
fn sleeps_and_work(pid: Pid) -> (u64, Duration) {
    let (mut sleeps, mut work) = (0, Duration::ZERO);
    let tasks = std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).expect("it runs");
    for task in tasks.flatten().map(|task| task.path()) {
        let read = |name: &str| std::fs::read_to_string(task.join(name)).unwrap_or_default();
        let status = read("status");
        let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        sleeps += count.and_then(|count| count.trim().parse::<u64>().ok()).unwrap_or(0);
        let ran = read("schedstat").split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0);
        work += Duration::from_nanos(ran);
    }
    (sleeps, work)
}

/// Check that the collector of an idle program comes to rest, in all of its threads, once it has processed the
/// program's start, which may take a while.
#[test]
fn collector_of_an_idle_program_sleeps() {
    let burst = Burst::of(10, &[]);
    let mut seen = Vec::new();
    wait_for("the collector to come to rest", || {
        let (sleeps, work) = sleeps_and_work(burst.collector());
        let started = Instant::now();
        std::thread::sleep(Duration::from_secs(2));
        let passed = started.elapsed().as_secs_f64();
        let (sleeps_after, work_after) = sleeps_and_work(burst.collector());
        let each_second = (sleeps_after - sleeps) as f64 / passed;
        let share = (work_after - work).as_secs_f64() / passed;
        seen.push((each_second, share));
        assert!(seen.len() < 8, "woke so often, and took so much of a processor: {seen:?}");
        // Six or seven for rings with little in them, two for samples, and a few for the capture and counters; the
        // program checks now and then whether it is to begin. A millisecond for each, unoptimized and on a slow
        // machine.
        each_second < 20.0 && share < 0.05
    });
    burst.happen().assert_sound();
}

/// Check that a busy program wakes the collector when rings are well filled, not for a few events each time.
#[test]
fn busy_program_wakes_its_collector_for_well_filled_rings() {
    const TIMES: u64 = 1_000_000;
    let capture = Burst::of(TIMES, &[]).happen();
    assert_eq!(capture.number("/totals/allocations"), TIMES + 1);
    // Three words for a block and its end; a ring of the default size has 131,072 words, a fifth of which is 26,214.
    let by_rings = TIMES * 3 / 26_214;
    let by_clock = capture.number("/duration_ns") / 100_000_000 + 1;
    let wake_ups = capture.number("/overhead/wake_ups");
    assert!(wake_ups <= by_rings + by_clock + 20, "{wake_ups} wake-ups, {by_rings} + {by_clock} expected");
}

/// Check that a burst of more than half a ring is kept while the collector does not run at all.
#[test]
fn burst_of_more_than_half_a_ring_is_kept() {
    const TIMES: u64 = 26_300;
    let capture = Burst::of(TIMES, &["--on-full", "drop"]).happen_unattended();
    capture.assert_sound();
    assert_eq!(capture.number("/totals/allocations"), TIMES + 1);
}
