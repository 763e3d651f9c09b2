//! What there is at a moment, and what changes between two.

use crate::harness::{Capture, c, record};
use serde_json::Value;

const MIB: i64 = 1 << 20;

/// A recording of the program, and the middle of each of the two times in which nothing happens, as options take it.
fn recorded() -> (Capture, [String; 2]) {
    let program = c("leaks_in_between").flags(["-O0"]).build();
    let (_, capture) = record(program).with_names().succeed();
    capture.assert_sound();
    let events = capture.events();
    let middle = |size: u64| {
        let mut after = events.iter().skip_while(|event| event.size != size);
        let block = after.next().expect("the moment's block").address;
        let end = after.find(|event| event.kind == "free" && event.address == block).expect("its end");
        // Stored times are rounded to a microsecond; nothing follows for two milliseconds.
        format!("{}ns", end.time + 1_000_000)
    };
    let moments = [middle(12345), middle(54321)];
    (capture, moments)
}

/// `function`, `delta_bytes`, `delta_blocks`, `allocated_bytes`, `freed_bytes` of each row, and the document.
fn diff(capture: &Capture, from: &str, to: &str) -> (Vec<(String, [i64; 4])>, Value) {
    let ran = capture.show(&["diff", "--json", "--from", from, "--to", to]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document: Value = serde_json::from_str(ran.text()).expect("the document is JSON");
    let row = |row: &Value| {
        let fields = ["delta_bytes", "delta_blocks", "allocated_bytes", "freed_bytes"];
        let numbers = fields.map(|field| row[field].as_i64().expect("a number"));
        (row["stack"][0]["function"].as_str().unwrap_or_default().to_owned(), numbers)
    };
    let rows = document["rows"].as_array().expect("rows").iter().map(row).collect();
    (rows, document)
}

/// Check that a leak between two moments of a program, and what it freed meanwhile, are reported stack by stack and
/// nothing else is; and that all signs are reversed when the moments are swapped.
#[test]
fn a_leak_between_two_moments_is_found() {
    let (capture, [from, to]) = recorded();
    let (mut rows, document) = diff(&capture, &from, &to);
    rows.sort();
    let expected = [("leaky".to_owned(), [MIB, 16, MIB, 0]), ("old".to_owned(), [-MIB, -16, 0, MIB])];
    assert_eq!(rows, expected);
    assert_eq!(document["total"]["delta_bytes"], 0);
    let (mut back, _) = diff(&capture, &to, &from);
    back.sort();
    let turned = expected.map(|(function, numbers)| (function, numbers.map(|number: i64| -number)));
    assert_eq!(back, turned);
    assert_eq!(diff(&capture, &to, &to).0, []);
}

/// Check that growth of stacks beyond a limit is reported and determines the exit code, that growth up to the limit
/// does not, and that what other stacks shrank by does not hide it.
#[test]
fn growth_fails_over_its_limit() {
    let (capture, [from, to]) = recorded();
    let gate = |from: &str, limit: &str| {
        let ran = capture.show(&["diff", "--from", from, "--to", &to, "--fail-over", limit]);
        (ran.code, ran.stderr)
    };
    assert_eq!(["1M", "2M"].map(|limit| gate(&from, limit).0), [0, 0]);
    let (code, said) = gate(&from, "1000K");
    let expected =
        "error: stacks grew by 1.00 MiB, more than --fail-over 1000 KiB; others shrank by 1.00 MiB";
    assert!(code == 1 && said.contains(expected), "{code} {said}");
    assert_eq!(["1000K", "2M"].map(|limit| gate("start", limit).0), [1, 0]);
}

/// Check that reports and leaks are about the requested moment and range.
#[test]
fn reports_are_about_their_part() {
    let (capture, [from, to]) = recorded();
    let functions = |options: &[&str]| -> Vec<String> {
        let report = capture.report(options);
        let rows = report["rows"].as_array().expect("rows").iter();
        let large =
            rows.filter(|row| row["bytes"].as_i64() == Some(MIB) || row["freed_bytes"].as_i64() == Some(MIB));
        large.map(|row| row["stack"][0]["function"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(functions(&["--at", &from]), ["old"]);
    assert_eq!(functions(&["--at", &to]), ["leaky"]);
    assert_eq!(functions(&["--from", &from, "--to", &to, "--by", "allocations"]), ["leaky"]);
    let leaks = capture.show(&["leaks", "--at", &from]);
    assert!(leaks.text().contains("old") && !leaks.text().contains("leaky"), "{}", leaks.text());
}

/// Check that the timeline shows what the program holds, and that its highest step is the peak.
#[test]
fn the_timeline_shows_what_is_held() {
    let (capture, [from, to]) = recorded();
    let show = |options: &[&str]| -> Value {
        let ran = capture.show(&[&["timeline", "--json"], options].concat());
        serde_json::from_str(ran.text()).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr))
    };
    let number = |step: &Value, field: &str| step[field].as_i64().expect("a number");
    for options in [&[][..], &["--steps", "7"], &["--from", &from, "--to", &to]] {
        let timeline = show(options);
        let steps = timeline["steps"].as_array().expect("steps");
        let highest = steps.iter().map(|step| number(step, "peak_bytes")).max();
        assert_eq!(highest, timeline["peak_bytes"].as_i64(), "{options:?}");
        assert!(steps.iter().all(|step| number(step, "peak_bytes") >= number(step, "held_bytes")));
    }
    let between = show(&["--from", &from, "--to", &to]);
    let steps = between["steps"].as_array().expect("steps");
    let lowest = steps.iter().map(|step| number(step, "freed_bytes")).sum::<i64>();
    assert_eq!(lowest, MIB + 54321);
    let csv = capture.show(&["timeline", "--format", "csv", "--steps", "7"]);
    let json = show(&["--steps", "7"]);
    let held = |line: &str| line.split(',').nth(1).and_then(|cell| cell.parse::<i64>().ok());
    let of_json: Vec<_> =
        json["steps"].as_array().into_iter().flatten().map(|step| step["held_bytes"].as_i64()).collect();
    assert!(csv.text().starts_with("\"end_ns\",\"held_bytes\","), "{}", csv.text());
    assert_eq!(csv.text().lines().skip(1).map(held).collect::<Vec<_>>(), of_json);
    let drawn = capture.show(&["timeline"]);
    assert!(drawn.code == 0 && drawn.text().contains('█'), "{}", drawn.text());
}
