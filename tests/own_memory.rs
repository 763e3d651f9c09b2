//! Collector and viewer, recorded by themselves: they keep nothing of what they have done.

use crate::harness::{Capture, Service, World, c, product, record, start_collector, wait, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;

/// What may stay; nothing that comes with each recording, event or stack can grow within this.
const LITTLE: u64 = 64 << 10;

/// What a capture's process held at a mark.
fn held(capture: &Capture, mark: &str) -> u64 {
    let report = capture.report(&["--at", mark]);
    report["total"]["live_bytes"].as_u64().unwrap_or_else(|| panic!("{report}"))
}

/// Check that a daemon holds as much after ten more recordings as after the first, and leaks next to nothing when it
/// ends.
#[test]
fn ten_recordings_leave_nothing_in_the_collector() {
    let server = Service::new(2);
    let captures = server.world.path("captures");
    fs::create_dir(&captures).expect("the folder is ours");
    let capture = server.world.path("daemon.memprof");
    let mut recorder = server.world.tool(["run", "--no-symbolize", "--no-cpu", "--output"]);
    recorder.arg(&capture).arg("--").arg(product());
    recorder.args(["daemon", "--no-symbolize", "--on-full", "block", "--max-wait", "100s", "--folder"]);
    recorder.arg(&captures);
    let recorder = start_collector(&server.world, recorder);
    let children = format!("/proc/{0}/task/{0}/children", recorder.pid().as_raw_nonzero());
    let daemon = fs::read_to_string(children).expect("the recorder runs").trim().to_owned();
    let asked = |command: &[&str]| {
        let ran = wait(&server.world, server.world.tool(command));
        assert_eq!(ran.code, 0, "{command:?}: {}", ran.stderr);
    };
    let descriptors = || fs::read_dir(format!("/proc/{daemon}/fd")).expect("the daemon runs").count();
    let idle = descriptors();
    let cycle = || {
        asked(&["daemon", "start", &server.pid()]);
        server.work();
        asked(&["daemon", "stop", &server.pid()]);
        server.wait_until_it_has_left();
        wait_for("the recording's end", || descriptors() == idle);
    };
    cycle();
    asked(&["mark", &daemon, "after one"]);
    (0..10).for_each(|_| cycle());
    asked(&["mark", &daemon, "after eleven"]);
    let pid = Pid::from_raw(daemon.parse().expect("one child")).expect("it is not 0");
    kill_process(pid, Signal::TERM).expect("the daemon runs");
    let ran = recorder.wait();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let world = server.stop();
    let capture = Capture::new(world, capture);
    let (one, eleven) = (held(&capture, "after one"), held(&capture, "after eleven"));
    assert!(eleven < one + LITTLE, "{one} bytes became {eleven}");
    let leaked = capture.number("/totals/leaked_bytes");
    assert!(leaked < LITTLE, "{leaked} bytes are leaked");
}

/// Check that the viewer frees what it has read, counted and shown.
#[test]
fn views_free_what_they_show() {
    let (_, shown) = record(c("keeps_some").flags(["-O1"]).build()).with_names().succeed();
    for view in [
        &["report"][..],
        &["report", "--at", "50%", "--json"],
        &["leaks"],
        &["timeline"],
        &["html", "-o", "-"],
    ] {
        // The program that draws graphs for it is not ours.
        let recording = record(product()).world(World::new()).options(["--no-cpu", "--no-follow"]).args(view);
        let (ran, capture) = recording.arg(shown.file()).run();
        assert_eq!(ran.code, 0, "{view:?}: {}", ran.stderr);
        let leaked = capture.number("/totals/leaked_bytes");
        assert!(
            capture.number("/totals/peak_bytes") > LITTLE && leaked < LITTLE,
            "{view:?}: {leaked} bytes are leaked"
        );
    }
}

/// Check that formats which contain every event are written in memory that does not grow with them.
#[test]
fn exports_hold_no_events() {
    let program = c("allocates_often").build();
    let recorded = |times: &str| record(&program).args([times]).options(["--no-cpu"]).succeed().1;
    let (few, many) = (recorded("20000"), recorded("400000"));
    for format in ["heaptrack", "massif", "syscap"] {
        let peak = |shown: &Capture| {
            let file = shown.world().path(&format!("it.{format}"));
            let recording = record(product()).world(World::new()).options(["--no-cpu"]);
            let recording = recording.args(["export", "--force", "--format", format, "--output"]).arg(&file);
            let (ran, capture) = recording.arg(shown.file()).run();
            assert_eq!(ran.code, 0, "{format}: {}", ran.stderr);
            (capture.number("/totals/peak_bytes"), fs::metadata(file).expect("it was written").len())
        };
        let ((few_held, few_written), (many_held, many_written)) = (peak(&few), peak(&many));
        assert!(format == "massif" || many_written > 10 * few_written, "{format}: {many_written} bytes");
        // Only the larger capture's chunks are full, and so are the buffers for them.
        assert!(many_held < few_held + (8 << 20), "{format}: {few_held} bytes became {many_held}");
    }
}
