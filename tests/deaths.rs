//! Whichever side dies, the other one goes on, and what was recorded stays.

use crate::harness::{
    Event, Group, Page, Recording, World, c, command_library, record, skip, wait, wait_for,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, pidfd_open, set_child_subreaper, waitpid,
};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::time::Duration;

/// A recording of a program that counts its calls in a page.
fn counting(threads: usize) -> (Recording, Page) {
    let world = World::new();
    let page = Page::new(&world);
    let program = c("counts_its_calls").flags(["-O1"]).build();
    let recording = record(program).arg(&page.path).args([threads.to_string()]).world(world);
    (recording, page)
}

/// Check that for a target which is killed in the middle of its work every event that it committed is in the capture.
#[test]
fn killed_target_has_all_its_events() {
    for threads in [1, 4] {
        let (recording, page) = counting(threads);
        let running = recording.start();
        let pid = Pid::from_raw(page.pid()).expect("a pid is not 0");
        page.wait_for_calls(threads, 3000);
        kill_process(pid, Signal::KILL).expect("it runs until it is told to stop");
        assert_eq!(running.wait().code, 128 + 9);

        let capture = recording.capture();
        capture.assert_sound();
        let info = capture.info();
        let process = &info["processes"][0];
        assert_eq!((&process["ended"], &process["signal"]), (&"signaled".into(), &9.into()));
        let recorded = calls_by_size(&capture.events());
        for thread in 0..threads {
            let calls = page.calls(thread);
            let (mallocs, frees) = recorded[&(1100 + thread as u64)];
            assert!((calls.mallocs_done..=calls.mallocs_begun).contains(&mallocs), "{mallocs} {calls:?}");
            assert!((calls.frees_done..=calls.frees_begun).contains(&frees), "{frees} {calls:?}");
        }
    }
}

/// Check that a process that is killed while it does nothing ends when it is killed, not with its last event.
#[test]
fn process_killed_in_silence_ends_when_it_is_killed() {
    let (_, capture) = record("timeout").args(["-s", "KILL", "1", "sleep", "100"]).run();
    let info = capture.info();
    let processes = info["processes"].as_array().expect("a list");
    let killed = processes.iter().find(|process| process["signal"] == 9 && process["name"] == "sleep");
    let killed = killed.expect("it was killed");
    // The recording begins before the timer of a second does.
    assert!(killed["end_time_ns"].as_u64() > Some(1_000_000_000), "{killed:#}");
}

/// Check that the ends of children are known which a program kills and reaps at once.
#[test]
fn ends_of_killed_children_are_known() {
    if !kernel_tells_ends() {
        return skip("ends of killed children", "the kernel forgets them when they are reaped");
    }
    let (ran, capture) = record(c("kills_its_children").build()).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let info = capture.info();
    let processes = info["processes"].as_array().expect("a list");
    let killed = |signal: i32| processes.iter().filter(|process| process["signal"] == signal).count();
    assert_eq!((killed(15), killed(9)), (5, 5), "{info:#}");
}

/// True since Linux 6.15.
fn kernel_tells_ends() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split('.').map_while(|part| part.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(15))
}

/// Check that `run` ends with a target that was killed before its signals were caught.
#[test]
fn target_that_dies_early_is_not_waited_for() {
    let world = World::new();
    let mut command = world.tool(["run", "-o", "it.memprof", "--", "true"]);
    command.env("LD_PRELOAD", command_library("kills_what_it_forks").build());
    let ran = wait(&world, command);
    assert_eq!(ran.code, 128 + 9, "{}", ran.stderr);
}

/// Check that a process which the kernel has killed for want of memory is reported as such, with what it held.
#[test]
fn want_of_memory_is_told() {
    let Some(group) = Group::new("deaths", 64 << 20) else { return };
    let enter = group.enter() + "exec \"$0\"";
    let recording = record("/bin/sh").args(["-c", &enter]).arg(c("holds_ever_more").build());
    let (ran, capture) = recording.run();
    assert_eq!(ran.code, 128 + 9, "{}", ran.stderr);
    let remarks = capture.info()["remarks"].to_string();
    assert!(remarks.contains("Probably killed because memory ran out: holds_ever_more ("), "{remarks}");
    let held = capture.info()["totals"]["peak_bytes"].as_u64().expect("it held some");
    assert!((32 << 20..64 << 20).contains(&held), "{held}");
}

/// Allocations and frees by the size of the block.
fn calls_by_size(events: &[Event]) -> HashMap<u64, (u64, u64)> {
    let (mut sizes, mut calls) = (HashMap::new(), HashMap::<u64, (u64, u64)>::new());
    for event in events {
        match event.kind.as_str() {
            "alloc" => {
                sizes.insert(event.address, event.size);
                calls.entry(event.size).or_default().0 += 1;
            }
            "free" => {
                let size = sizes.remove(&event.address).expect("an allocation comes before its free");
                calls.entry(size).or_default().1 += 1;
            }
            _ => {}
        }
    }
    calls
}

/// Check that a target whose collector is killed soon continues unrecorded, and ends as it would have; and that the
/// capture opens and says that it was cut.
#[test]
fn target_survives_its_collector() {
    // The target becomes our child when the collector is gone, so that we can see how it ends.
    set_child_subreaper(Some(getpid())).expect("every process may ask for that");
    for policy in ["block", "drop"] {
        let (recording, page) = counting(2);
        // It would wait this long if the collector were only slow.
        let recording = recording.options(["--ring-size", "4K", "--on-full", policy, "--max-wait", "100s"]);
        let running = recording.start();
        let target = Pid::from_raw(page.pid()).expect("a pid is not 0");
        wait_for("events in the capture", || events_so_far(&recording) > 0);
        let before = page.calls(0).mallocs_done;
        running.signal(Signal::KILL);
        assert_eq!(running.wait().code, 128 + 9);
        page.wait_for_calls(2, before + 100_000);
        page.stop();
        assert_eq!(end_of(target), Some(5));
        assert!(page.is_done());
        let longest = Duration::from_nanos(page.longest_ns());
        assert!(
            longest < Duration::from_secs(50),
            "{policy}: waited {longest:?} for a collector that was dead"
        );

        let capture = recording.capture();
        let info = capture.info();
        assert!(info["cut"].is_string(), "{info:#}");
        assert!(info["totals"]["allocations"].as_u64() > Some(0), "{info:#}");
        let report = capture.show(&["report"]);
        assert_eq!(report.code, 0, "{}", report.stderr);
    }
}

/// Events in a capture that is still being written; 0 before it can be read.
fn events_so_far(recording: &Recording) -> u64 {
    let mut info = recording.world.tool(["info", "--json"]);
    info.arg(recording.file());
    let document = serde_json::from_slice::<Value>(&wait(&recording.world, info).stdout);
    document.map_or(0, |document| document["events"].as_u64().unwrap_or(0))
}

/// The exit code of a process that was not born as our child.
fn end_of(pid: Pid) -> Option<i32> {
    let process = pidfd_open(pid, PidfdFlags::empty()).expect("it was not waited for");
    let limit = Timespec { tv_sec: 120, tv_nsec: 0 };
    assert_eq!(poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&limit)), Ok(1), "it does not end");
    let (_, status) = waitpid(Some(pid), WaitOptions::empty()).ok()??;
    status.exit_status()
}

/// Check that a stopped collector resumes where it was: the target waits, and nothing is lost.
#[test]
fn stopped_collector_resumes() {
    for (size, times) in [("4K", 20_000), ("16M", 300_000)] {
        let world = World::new();
        let page = Page::new(&world);
        let program = c("burst").flags(["-O1"]).build();
        let recording = record(program).arg(&page.path).args([times.to_string()]).world(world);
        let recording = recording.options(["--ring-size", size, "--max-wait", "100s"]);
        let running = recording.start();
        page.pid();
        running.stop();
        page.go();
        if size == "16M" {
            // All of it fits into the ring, which is then read in several steps.
            wait_for("the burst", || page.is_done());
        }
        running.signal(Signal::CONT);
        wait_for("the burst", || page.is_done());
        page.stop();
        assert_eq!(running.wait().code, 6);
        let capture = recording.capture();
        capture.assert_sound();
        assert_eq!(capture.row_of_size(1200).number("frees"), times);
        assert_eq!(capture.row_of_size(1201).number("frees"), 1);
    }
}
