//! Functions of Node.js on stacks, by the names that `run` has its compiler report.

use crate::harness::{Capture, installed, record, skip};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Sizes of the blocks whose stacks the script prints.
const SIZES: &str = "20001..20030";

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/javascript/allocates_everywhere.js")
}

/// The functions of the script in a row's stack, from the innermost outwards.
fn scripted(row: &Value) -> Vec<(String, u64)> {
    let is_of_script =
        |frame: &&Value| frame["file"].as_str().is_some_and(|file| Path::new(file) == script());
    let of_frame = |frame: &Value| {
        (frame["function"].as_str().unwrap_or("?").to_owned(), frame["line"].as_u64().unwrap_or(0))
    };
    row["stack"].as_array().into_iter().flatten().filter(is_of_script).map(of_frame).collect()
}

fn rows(capture: &Capture) -> Vec<Value> {
    let report = capture.report(&["--by", "allocations", "--size", SIZES]);
    report["rows"].as_array().cloned().expect("a report has rows")
}

/// Check that each block has the functions that the interpreter itself names: methods, recursion, exceptions, generators,
/// promises, timers, and functions that the library calls; each with the line at which it is defined. The file that told
/// the names is gone, and a remark says why there are names.
#[test]
fn stacks_are_those_that_the_interpreter_names() {
    if installed("node").is_none() {
        return skip("Node.js", "not installed");
    }
    let (ran, capture) = record("node").arg(script()).with_names().run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let mut expected: HashMap<String, u64> = HashMap::new();
    for line in ran.text().lines() {
        let (_, stack) = line.split_once(' ').expect("a size and a stack");
        *expected.entry(stack.to_owned()).or_default() += 1;
    }
    assert!(expected.len() >= 10, "{expected:?}");
    let source = fs::read_to_string(script()).expect("the script is there");
    let mut found: HashMap<String, u64> = HashMap::new();
    for row in rows(&capture).iter().filter(|row| !scripted(row).is_empty()) {
        let functions = scripted(row);
        for (name, line) in
            functions.iter().filter(|(name, _)| ["recursive", "compares", "main"].contains(&name.as_str()))
        {
            let defined = source.lines().nth(usize::try_from(*line).expect("a line") - 1);
            assert!(
                defined.is_some_and(|text| text.starts_with(&format!("function {name}("))),
                "{name}:{line}"
            );
        }
        let names: Vec<&str> = functions.iter().map(|(name, _)| name.as_str()).collect();
        *found.entry(names.join(" ")).or_default() += row["allocations"].as_u64().unwrap_or(0);
    }
    assert_eq!(found, expected);
    let info = capture.info();
    let pid = info["processes"][0]["pid"].as_u64().expect("a pid");
    assert!(!Path::new(&format!("/tmp/perf-{pid}.map")).exists());
    let remarks = info["remarks"].to_string();
    assert!(remarks.contains("by NODE_OPTIONS"), "{remarks}");
}

/// Check that lists begin at a function of the script, and leave out what runs it.
#[test]
fn lists_begin_at_the_script() {
    if installed("node").is_none() {
        return skip("Node.js", "not installed");
    }
    let (_, capture) = record("node").arg(script()).with_names().succeed();
    let ran = capture.show(&["report", "--by", "allocations", "--size", SIZES]);
    let text = ran.text();
    let recovering = text.lines().find(|line| line.contains(" < recovers < main < "));
    assert!(recovering.is_some_and(|line| !line.contains("Builtins_") || line.contains("via ")), "{text}");
    assert!(text.contains("allocate (allocates_everywhere.js:"), "{text}");
    assert!(!text.contains("Module._compile"), "{text}");
}

/// Check that whoever has asked for a map himself keeps it, and that nobody is told anything with `--no-interpreters`.
#[test]
fn only_what_was_asked_of_node_is_taken_back() {
    if installed("node").is_none() {
        return skip("Node.js", "not installed");
    }
    let says = "console.log(process.env.NODE_OPTIONS, process.pid)";
    let options =
        |ran: &str| ran.rsplit_once(' ').map(|(options, pid)| (options.to_owned(), pid.trim().to_owned()));
    let (ran, _) = record("node").args(["-e", says]).env("NODE_OPTIONS", "--no-warnings").succeed();
    let (given, _) = options(ran.text()).expect("options and a pid");
    assert_eq!(given, "--no-warnings --perf-basic-prof --interpreted-frames-native-stack");
    let (ran, _) = record("node").args(["-e", says]).env("NODE_OPTIONS", "--perf-basic-prof").succeed();
    let (given, pid) = options(ran.text()).expect("options and a pid");
    let map = PathBuf::from(format!("/tmp/perf-{pid}.map"));
    assert!(map.exists());
    fs::remove_file(map).expect("it is ours");
    assert_eq!(given, "--perf-basic-prof");
    let (ran, _) = record("node").args(["-e", says]).options(["--no-interpreters"]).succeed();
    assert!(ran.text().starts_with("undefined "), "{}", ran.text());
}
