//! Recordings of services that run for days: moments are marked, captures are followed by others.

use crate::harness::{Service, assert_exact, info, number, start, start_collector, wait, wait_for};
use rustix::process::Signal;
use serde_json::Value;

/// Names of the marks of a capture.
fn marks(info: &Value) -> Vec<&str> {
    let marks = info["marks"].as_array().expect("a list");
    marks.iter().map(|mark| mark["name"].as_str().expect("a name")).collect()
}

/// Check that moments which are marked from outside can be asked about by name, one after another, and that a
/// snapshot marks its own.
#[test]
fn moments_are_marked_from_outside() {
    let server = Service::new(2);
    let collector = server.attach("it.memprof");
    server.work();
    for name in ["before", "after the work"] {
        let ran = server.run("mark", &[name]);
        assert!(ran.code == 0 && ran.stderr.contains(name), "{}", ran.stderr);
        server.work();
    }
    assert_eq!(server.run("snapshot", &["third"]).code, 0);
    collector.signal(Signal::INT);
    assert_eq!(collector.wait().code, 0);
    let late = server.run("mark", &["late"]);
    assert!(late.code == 2 && late.stderr.contains("is not recorded: attach to it first"), "{}", late.stderr);
    let whole = info(&server.world, "it.memprof");
    assert_eq!(marks(&whole), ["before", "after the work", "third"]);
    assert_eq!(marks(&info(&server.world, "third.memprof")), ["before", "after the work", "third"]);
    assert_exact(&whole, 2);
    let between = |from: &str, to: &str| {
        let mut tool = server.world.tool(["report", "--json", "--from", from, "--to", to]);
        tool.arg(server.world.path("it.memprof"));
        let ran = wait(&server.world, tool);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let report: Value = serde_json::from_str(ran.text()).expect("report prints JSON");
        number(&report, "/total/allocations")
    };
    let parts =
        [("start", "before"), ("before", "after the work"), ("after the work", "third"), ("third", "end")];
    let parts = parts.map(|(from, to)| between(from, to));
    assert!(parts[..3].iter().all(|part| *part > 1000), "{parts:?}");
    assert_eq!(parts.iter().sum::<u64>(), number(&whole, "/totals/allocations"), "{parts:?}");
    server.stop();
}

/// Check that snapshots are marked by time and by what is live, without anybody asking.
#[test]
fn snapshots_are_marked_without_asking() {
    let server = Service::new(1);
    for (occasion, value, least) in [("--snapshot-every", "20ms", 3), ("--snapshot-over", "1", 1)] {
        let file = format!("it{occasion}.memprof");
        // Before it has attached there may be no capture, or one without a beginning.
        let collector = server.attach_with(&[occasion, value, "--output", &file]);
        wait_for("marks", || marks(&info(&server.world, &file)).len() >= least);
        server.work();
        collector.signal(Signal::INT);
        assert_eq!(collector.wait().code, 0);
        server.wait_until_it_has_left();
        let info = info(&server.world, &file);
        let names = marks(&info);
        let expected: Vec<String> = (1..=names.len()).map(|number| format!("snapshot {number}")).collect();
        assert_eq!(names, expected, "{occasion}");
        assert_exact(&info, 1);
    }
    server.stop();
}

/// Check that a full capture is followed by another one, that each is complete and exact, and that older ones are
/// removed.
#[test]
fn full_captures_are_followed_by_others() {
    let server = Service::new(2);
    let path = |number: u32| server.world.path(&format!("it.{number}.memprof"));
    let mut tool = server.tool("attach", &["--no-symbolize", "--max-size", "64K", "--keep", "1"]);
    tool.args(["--on-full", "block", "--max-wait", "100s", "-o", "it.memprof"]);
    let collector = start(&server.world, tool);
    wait_for("the third capture", || path(3).exists());
    collector.signal(Signal::INT);
    let ran = collector.wait();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!server.world.path("it.memprof").exists(), "{}", ran.stderr);
    let last = (3..).take_while(|number| path(*number).exists()).last().expect("there is a third");
    assert!(!path(last - 2).exists(), "{}", ran.stderr);
    for place in [last - 1, last] {
        let info = info(&server.world, &format!("it.{place}.memprof"));
        assert_eq!(info["cut"], Value::Null);
        // The last one may have just begun.
        if place != last || number(&info, "/totals/allocations") > 1000 {
            assert_exact(&info, 2);
        }
    }
    server.work();
    server.stop();
}

/// Check that the daemon sets marks, and continues in another capture when one is full.
#[test]
fn daemon_marks_and_goes_on() {
    let server = Service::new(1);
    let folder = server.world.path("captures");
    std::fs::create_dir(&folder).unwrap();
    let mut daemon =
        server.world.tool(["daemon", "--no-symbolize", "--on-full", "block", "--max-wait", "100s"]);
    daemon.args(["--max-size", "64K"]).arg("--folder").arg(&folder);
    let daemon = start_collector(&server.world, daemon);
    let ran = server.run("daemon start", &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    // Between two captures nobody can set the mark.
    wait_for("the mark", || {
        let ran = server.run("mark", &["here"]);
        ran.code == 0 && ran.stderr.contains("marked here")
    });
    let captures = || {
        let entries = std::fs::read_dir(&folder).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    wait_for("another capture", || captures().len() >= 2);
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait().code, 0);
    let all: Vec<Value> = captures().iter().map(|path| info(&server.world, path.to_str().unwrap())).collect();
    // Which capture has it depends on when the first one was full.
    assert_eq!(all.iter().flat_map(marks).collect::<Vec<_>>(), ["here"]);
    assert!(all.iter().all(|info| info["cut"].is_null()));
    server.stop();
}
