//! Stacks of interpreters, as reported by them.

use crate::harness::{Capture, c, record, rust};
use serde_json::{Value, json};

/// The functions of the stack that has blocks of a size, from `main` inwards; those of scripts with their line.
fn stack(capture: &Capture, size: u64) -> Vec<String> {
    let row = capture.row_of_size(size);
    let frames = row.value["stack"].as_array().expect("a stack");
    let name = |frame: &Value| {
        let function = frame["function"].as_str().unwrap_or("?");
        let file = frame["file"].as_str().unwrap_or_default();
        match frame["line"].as_u64() {
            Some(line) if file.ends_with(".toy") => format!("{file}:{line}:{function}"),
            _ => function.to_owned(),
        }
    };
    let mut names: Vec<String> = frames.iter().rev().map(name).collect();
    let main = names.iter().position(|name| name == "main").expect("stacks reach main");
    names.split_off(main)
}

fn toy(way: &str) -> (String, Capture) {
    let program = c("toy_interpreter").with_api().flags(["-O1", "-fomit-frame-pointer"]).build();
    let (ran, capture) = record(program).arg(way).with_names().run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    (ran.text().to_owned(), capture)
}

/// Check that a script's frame comes after the native frame that runs it, each time the interpreter calls itself,
/// with its line and its file; that there are none before the provider is set and after it is removed; and that the
/// provider is called once for each stack, with `errno` preserved.
#[test]
fn script_frames_stand_under_their_eval_loop() {
    let (text, capture) = toy("says");
    assert_eq!(text, "1 1 2\n");
    let fill = [
        "main",
        "eval",
        "main.toy:3:start",
        "eval",
        "main.toy:12:fill",
        "eval",
        "main.toy:21:keep",
        "builtin_block",
    ];
    let keep = ["main", "eval", "main.toy:4:start", "eval", "main.toy:21:keep", "builtin_block"];
    assert_eq!(stack(&capture, 222), fill);
    assert_eq!(stack(&capture, 111), keep);
    assert_eq!(stack(&capture, 333), ["main", "builtin_block"]);
    assert_eq!(stack(&capture, 444), ["main", "builtin_block"]);
    let row = capture.row_of_size(111);
    assert_eq!(row.value["stack"][1]["module"], "main.toy");
    let info = capture.info();
    assert_eq!((&info["lost"]["events"], &info["stacks"]["incomplete"]), (&json!(0), &json!(0)));
    let rows = capture.report(&["--functions", "--by", "allocations"]);
    let of_keep = rows["functions"].as_array().expect("a list").iter().find(|row| row["function"] == "keep");
    assert_eq!(of_keep.expect("functions of scripts are in views")["total_blocks"], 2);
}

/// Check that the same stacks are only the native ones when no provider is set.
#[test]
fn stacks_without_a_provider_are_the_machines() {
    let (text, capture) = toy("nothing");
    assert_eq!(text, "1 0 0\n");
    assert_eq!(stack(&capture, 222), ["main", "eval", "eval", "eval", "builtin_block"]);
}

/// Check that a provider which allocates does no harm: its blocks are counted as lost, and all others are recorded
/// with their frames.
#[test]
fn providers_may_allocate() {
    let (text, capture) = toy("allocates");
    assert_eq!(text, "1 1 2\n");
    assert_eq!(stack(&capture, 111).len(), 6);
    assert_eq!(stack(&capture, 222).len(), 8);
    let info = capture.info();
    let reason = &info["lost"]["by_reason"][0];
    assert_eq!((&reason["reason"], &reason["events"]), (&json!("nested"), &info["lost"]["events"]));
    assert_eq!(reason["events"], 4);
    assert_eq!((&info["lost"]["gap_allocations"], &info["lost"]["gap_frees"]), (&json!(2), &json!(2)));
    assert_eq!(info["overhead"]["agent_allocations"], 0);
    assert!(capture.events().iter().all(|event| event.size != 7));
}

/// Check the same for Rust: frames without a place come after the innermost native one.
#[test]
fn rust_programs_say_what_they_run() {
    let (_, capture) = record(rust("runs_a_script").with_api().build()).with_names().succeed();
    let functions = |size| -> Vec<String> {
        let row = capture.row_of_size(size);
        row.frames.iter().take(2).map(|frame| frame.function.clone()).collect()
    };
    assert_eq!(functions(1001), ["innere", "äußere"]);
    assert!(!functions(1002).contains(&"innere".to_owned()));
    assert_eq!(capture.row_of_size(1001).frames[0].module, "[script]");
}

/// Check that it is reported when there was no more room for names of functions.
#[test]
fn functions_without_room_are_told_of() {
    let program = c("names_too_many_functions").with_api().flags(["-O1", "-fno-builtin"]).build();
    let (ran, capture) = record(program).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let allocations: u64 = capture.rows_of_size(2600).iter().map(|row| row.number("allocations")).sum();
    assert_eq!(allocations, 5000);
    let remarks = capture.info()["remarks"].to_string();
    assert!(remarks.contains("than can be described: 1."), "{remarks}");
}
