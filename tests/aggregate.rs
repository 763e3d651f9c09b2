//! Recordings that keep totals of stacks at snapshots instead of single events.

use crate::harness::{Capture, Service, c, info, number, record, wait};
use rustix::process::Signal;
use serde_json::Value;

/// A recording of the program that holds blocks between its marks.
fn recorded(options: &[&str]) -> Capture {
    let program = c("holds_between_marks").with_api().flags(["-O1"]).build();
    let (_, capture) = record(program).with_names().options(options).succeed();
    capture
}

fn json(capture: &Capture, arguments: &[&str]) -> Value {
    let ran = capture.show(arguments);
    assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.stderr);
    serde_json::from_str(ran.text()).expect("the document is JSON")
}

/// Check that at marks, between them and at the end an aggregated recording has the totals of one with all events,
/// with a thousandth of its events.
#[test]
fn totals_are_those_of_all_events() {
    let all = recorded(&["--no-cpu"]);
    let aggregated = recorded(&["--aggregate", "--every", "1h"]);
    for arguments in [
        vec!["report", "--json"],
        vec!["report", "--json", "--at", "one"],
        vec!["report", "--json", "--at", "two"],
        vec!["report", "--json", "--at", "three"],
        vec!["report", "--json", "--from", "one", "--to", "two"],
        vec!["diff", "--json", "--from", "one", "--to", "two"],
        vec!["diff", "--json", "--from", "two", "--to", "three"],
        vec!["leaks", "--json"],
    ] {
        let [expected, found] = [&all, &aggregated].map(|capture| {
            let mut document = json(capture, &arguments);
            // Between two marks, the peak is only known at the snapshots.
            if let (true, Some(total)) = (arguments.contains(&"--from"), document["total"].as_object_mut()) {
                total.retain(|field, _| !field.starts_with("peak"));
            }
            document
        });
        for total in ["total", "leaked", "uncertain"] {
            assert_eq!(found[total], expected[total], "{total} of {arguments:?}");
        }
    }
    let document = json(&aggregated, &["diff", "--json", "--from", "one", "--to", "two"]);
    let rows = document["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["delta_bytes"] != 0).expect("something has grown");
    assert_eq!((&row["stack"][0]["function"], &row["delta_bytes"]), (&"keeps".into(), &10_000.into()));
    let events = [&all, &aggregated].map(|capture| capture.number("/events"));
    assert!(events[0] > 600_000 && events[1] < 200, "{events:?}");
    let info = json(&aggregated, &["info", "--json"]);
    // One for each mark and for the end of the process, and the last one.
    assert_eq!(
        (number(&info, "/aggregated/snapshots"), number(&info, "/aggregated/every_ns")),
        (5, 3_600_000_000_000)
    );
}

/// Check that heaps of the program's own have the totals of all events, and that nothing else is known of them.
#[test]
fn pools_have_totals_in_words() {
    let program = c("two_pools").with_api().build();
    let (_, all) = record(&program).succeed();
    let (ran, aggregated) = record(&program).options(["--aggregate"]).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let heaps = all.info()["heaps"].as_array().expect("a capture has heaps").clone();
    let totals = |name: &str| {
        let heap = heaps.iter().find(|heap| heap["name"] == name).expect("it is there");
        ["allocations", "allocated_bytes", "frees", "peak_bytes", "leaked_blocks", "leaked_bytes"]
            .map(|field| heap[field].as_u64().expect("a number"))
    };
    assert_eq!(totals("arena"), [13, 1357, 3, 1300, 10, 1057]);
    assert_eq!(totals("cache"), [1, 4096, 1, 4096, 0, 0]);
    let remarks = aggregated.info()["remarks"].to_string();
    for expected in [
        "Pool arena: 13 allocations of 1.33 KiB, 3 frees, at most 1.27 KiB held, 10 blocks of 1.03 KiB left. ",
        "Pool cache: 1 allocation of 4.00 KiB, 1 free, at most 4.00 KiB held, 0 blocks of 0 B left. ",
    ] {
        assert!(remarks.contains(expected), "{expected} in {remarks}");
    }
    let ran = aggregated.show(&["report", "--heap", "arena"]);
    assert!(ran.code == 2 && ran.stderr.contains("is aggregated"), "{}", ran.stderr);
}

/// Check that views of stacks show an aggregated capture, and that views of single blocks say what to record instead.
#[test]
fn views_of_blocks_say_what_to_record() {
    let capture = recorded(&["--aggregate"]);
    for arguments in [
        &["info"][..],
        &["report"],
        &["report", "--at", "50%"],
        &["leaks"],
        &["timeline"],
        &["diff", "--from", "one", "--to", "two"],
        &["export", "--format", "pprof"],
        &["export", "--format", "csv"],
        &["export", "--format", "folded"],
    ] {
        let ran = capture.show(arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.stderr);
    }
    for arguments in [
        &["blocks", "--by", "lifetime"][..],
        &["blocks", "--by", "size"],
        &["blocks", "--by", "thread"],
        &["blocks", "--by", "temporary"],
        &["history", "0x1000"],
        &["export", "--format", "events"],
        &["export", "--format", "events-json"],
        &["export", "--format", "events", "--samples"],
        &["pages"],
        &["pages", "--by", "allocation"],
        &["export", "--format", "heaptrack"],
        &["export", "--format", "firefox", "--output", "life.json"],
        &["export", "--format", "sqlite", "--output", "life.db"],
        &["report", "--thread", "1"],
        &["leaks", "--older-than", "1s"],
    ] {
        let ran = capture.show(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.stderr);
        assert!(
            (ran.stderr.contains("is aggregated") || arguments.contains(&"allocation"))
                && ran.stderr.contains("without --aggregate"),
            "{}",
            ran.stderr
        );
        // A map of pages does not need samples, either.
        assert_eq!(
            ran.stderr.contains("--sample makes it smaller"),
            arguments[0] != "pages",
            "{}",
            ran.stderr
        );
    }
    for arguments in [&["report", "--cpu"][..], &["report", "--allocator"], &["report", "--lines", "--cpu"]] {
        let ran = capture.show(arguments);
        assert!(ran.code == 0 && ran.text().contains("record without --aggregate"), "{}", ran.text());
    }
    let start = capture.show(&["report", "--at", "start"]);
    assert!(start.text().contains("no snapshot at or before that moment"), "{}", start.text());
    for (statement, code) in [("select count(*) from stacks", 0), ("select count(*) from blocks", 2)] {
        let mut tool = capture.world().tool(["query"]);
        tool.arg(capture.file()).arg(statement);
        assert_eq!(wait(capture.world(), tool).code, code, "{statement}");
    }
}

/// Check that a service's totals are recorded from the attach on, that its snapshots are moments with names, and that
/// what is kept grows with snapshots, not with events.
#[test]
fn services_have_snapshots_by_name() {
    let server = Service::new(2);
    let collector = server.attach_with(&["--aggregate", "--every", "1h", "--output", "it.memprof"]);
    for name in ["a", "b", "c"] {
        server.work();
        let ran = server.run("snapshot", &[name]);
        assert!(ran.code == 0 && ran.stderr.contains(&format!("marked {name}")), "{}", ran.stderr);
    }
    collector.signal(Signal::INT);
    assert_eq!(collector.wait().code, 0);
    let whole = info(&server.world, "it.memprof");
    let (allocations, events) = (number(&whole, "/totals/allocations"), number(&whole, "/events"));
    assert!(allocations > 40_000 && events < 1000, "{allocations} allocations, {events} events");
    let total = |from: &str, to: &str| {
        let mut tool = server.world.tool(["report", "--json", "--from", from, "--to", to]);
        tool.arg(server.world.path("it.memprof"));
        let ran = wait(&server.world, tool);
        let report: Value = serde_json::from_str(ran.text()).expect("report prints JSON");
        number(&report, "/total/allocations")
    };
    let parts = [("start", "a"), ("a", "b"), ("b", "c"), ("c", "end")].map(|(from, to)| total(from, to));
    assert_eq!(parts.iter().sum::<u64>(), allocations, "{parts:?}");
    assert!(parts[..3].iter().all(|part| *part > 1000), "{parts:?}");
    server.stop();
}
