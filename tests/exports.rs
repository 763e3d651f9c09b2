//! Other programs open what is exported, and find our numbers in it.

use crate::harness::{Capture, Ran, c, installed, record, skip, wait};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// A capture with names, and with something in each number.
fn recorded() -> Capture {
    let (_, capture) = record(c("mixed_calls").flags(["-O2"]).build()).with_names().succeed();
    capture
}

/// Exports a capture to a file.
fn export(capture: &Capture, format: &str, options: &[&str]) -> PathBuf {
    let file = capture.world().path(&format!("it.{format}"));
    let name = file.to_str().expect("a temporary folder has a plain name");
    let ran = capture.show(&[&["export", "--force", "--format", format, "--output", name], options].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    file
}

/// What a consumer prints that must be content with what it gets; none where it is not installed.
fn opened(capture: &Capture, program: &str, arguments: &[&str], file: &PathBuf) -> Option<String> {
    if installed(program).is_none() {
        skip(program, "not installed, so what is exported for it was not opened");
        return None;
    }
    let mut command: Command = capture.world().command(program);
    command.args(arguments).arg(file);
    let ran: Ran = wait(capture.world(), command);
    assert_eq!(ran.code, 0, "{program}: {}", ran.stderr);
    Some(ran.text().to_string())
}

fn total(capture: &Capture, field: &str) -> i64 {
    let info = capture.info();
    info["totals"][field].as_i64().unwrap_or_else(|| panic!("{field} of {}", info["totals"]))
}

/// Check that Go's pprof reads the profile, and that the values of its samples add up to our totals.
#[test]
fn pprof_finds_our_totals() {
    let capture = recorded();
    let file = export(&capture, "pprof", &[]);
    let Some(raw) = opened(&capture, "go", &["tool", "pprof", "-raw"], &file) else { return };
    let samples = raw.split_once("Samples:\n").expect("raw profiles have samples").1;
    let (kinds, rows) = samples.split_once('\n').expect("a line of types");
    let mut sums = vec![0; kinds.split_whitespace().count()];
    for row in rows.lines().take_while(|line| *line != "Locations") {
        // Labels have lines of their own.
        let Some((values, _)) = row
            .split_once(": ")
            .filter(|(values, _)| values.trim().starts_with(|c: char| c.is_ascii_digit()))
        else {
            continue;
        };
        for (sum, value) in sums.iter_mut().zip(values.split_whitespace()) {
            *sum += value.parse::<i64>().expect("values are numbers");
        }
    }
    let of = |kind: &str| {
        let place = kinds.split_whitespace().position(|word| word.split('[').next() == Some(kind));
        sums[place.unwrap_or_else(|| panic!("{kind} in {kinds}"))]
    };
    for (kind, field) in [
        ("alloc_objects/count", "allocations"),
        ("alloc_space/bytes", "allocated_bytes"),
        ("peak_space/bytes", "peak_bytes"),
        ("peak_objects/count", "peak_blocks"),
        ("leaked_space/bytes", "leaked_bytes"),
        ("temporary_objects/count", "temporary"),
    ] {
        assert_eq!(of(kind), total(&capture, field), "{kind}");
    }
    assert!(raw.contains("main"), "functions have names");
}

/// Check that callgrind's annotator reads the file, names functions, and prints our totals.
#[test]
fn callgrind_annotate_finds_our_totals() {
    let capture = recorded();
    let file = export(&capture, "callgrind", &[]);
    let Some(text) = opened(&capture, "callgrind_annotate", &["--tree=both", "--inclusive=yes"], &file)
    else {
        return;
    };
    let totals = text.lines().find(|line| line.ends_with("PROGRAM TOTALS")).expect("it prints totals");
    let numbers: Vec<i64> =
        totals.split_whitespace().filter_map(|word| word.replace(',', "").parse().ok()).collect();
    let expected =
        ["peak_bytes", "peak_blocks", "leaked_bytes", "leaked_blocks"].map(|field| total(&capture, field));
    assert_eq!(numbers[..4], expected, "{totals}");
    assert!(text.contains(":main"), "{text}");
}

/// Check that Graphviz lays the graph out, and that the functions are in its drawing.
#[test]
fn graphviz_draws_the_graph() {
    let capture = recorded();
    for metric in ["peak", "allocations", "temporary"] {
        let file = export(&capture, "dot", &["--by", metric, "--min", "0%"]);
        let Some(svg) = opened(&capture, "dot", &["-Tsvg"], &file) else { return };
        assert!(svg.contains("<svg") && svg.contains(">main<"), "{svg}");
    }
}

/// Check that the flame graph is well-formed XML for each number, and that what it runs is a script.
#[test]
fn flame_graphs_are_well_formed() {
    let capture = recorded();
    let file = export(&capture, "flamegraph", &["--by", "allocations"]);
    let text = std::fs::read_to_string(&file).expect("it was written");
    assert!(
        !text.contains("http") || text.matches("http").count() == 1,
        "it needs no network: only its name space"
    );
    opened(&capture, "xmllint", &["--noout"], &file);
    let (_, script) = text.split_once("<![CDATA[").expect("a script");
    let script = capture.world().write("script.js", script.split_once("]]>").expect("its end").0);
    opened(&capture, "node", &["--check"], &script);
}

/// Check that the sums of formats for scripts are our totals, each read by what reads that format.
#[test]
fn scripts_find_our_totals() {
    let capture = recorded();
    for (metric, field) in
        [("peak", "peak_bytes"), ("leaked", "leaked_bytes"), ("allocations", "allocations")]
    {
        let folded = std::fs::read_to_string(export(&capture, "folded", &["--metric", metric]))
            .expect("it was written");
        let number =
            |line: &str| line.rsplit(' ').next().and_then(|word| word.parse::<i64>().ok()).expect("a number");
        assert_eq!(folded.lines().map(number).sum::<i64>(), total(&capture, field), "{folded}");
        assert!(folded.lines().all(|line| line.starts_with("mixed_calls;")), "{folded}");
    }
    let speedscope = std::fs::read(export(&capture, "speedscope", &[])).expect("it was written");
    let speedscope: Value = serde_json::from_slice(&speedscope).expect("it is JSON");
    assert_eq!(speedscope["profiles"][0]["endValue"], total(&capture, "peak_bytes"));
    let csv = export(&capture, "csv", &[]);
    let sum = "import csv, sys; print(sum(int(row['allocated_bytes']) for row in csv.DictReader(open(sys.argv[1], newline=''))))";
    if let Some(sum) = opened(&capture, "python3", &["-c", sum], &csv) {
        assert_eq!(sum.trim().parse(), Ok(total(&capture, "allocated_bytes")));
    }
}

/// Check that an export of a part holds that part, and that what is there is not replaced unless the user wants it.
#[test]
fn parts_are_exported_and_files_kept() {
    let capture = recorded();
    let report = capture.report(&["--at", "50%"]);
    let folded =
        std::fs::read_to_string(export(&capture, "folded", &["--at", "50%"])).expect("it was written");
    let sum: i64 = folded.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<i64>().ok()).sum();
    assert_eq!(Some(sum), report["total"]["live_bytes"].as_i64());
    let kept = capture.world().write("kept", "mine");
    let ran = capture.show(&["export", "--format", "csv", "--output", "kept"]);
    assert!(ran.code == 2 && ran.stderr.contains("--force"), "{}", ran.stderr);
    assert_eq!(std::fs::read(kept).expect("it is there"), b"mine");
    let ran = capture.show(&["export", "--format", "csv", "--limit", "3"]);
    assert!(ran.code == 2 && ran.stderr.contains("drawings"), "{}", ran.stderr);
}
