//! Code that programs generate while they run has the names that they report.

use crate::harness::{Capture, World, c, record, skip};
use std::fs;
use std::path::Path;

/// The pid of the only process of a capture.
fn pid(capture: &Capture) -> u64 {
    capture.info()["processes"][0]["pid"].as_u64().expect("there is a process")
}

/// Functions of the stack of a block of this size, innermost first, with file and line.
fn stack(capture: &Capture, size: u64) -> Vec<(String, String, u64)> {
    let row = capture.row_of_size(size);
    let frames = row.value["stack"].as_array().expect("a row has a stack").iter();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_string();
    frames
        .map(|frame| (text(&frame["function"]), text(&frame["file"]), frame["line"].as_u64().unwrap_or(0)))
        .collect()
}

/// Check that a function has the name that the program reported after running it, even if names from files are not
/// looked up, and that a function that nobody reported says so.
#[test]
fn functions_have_names_that_were_told_later() {
    for with_names in [true, false] {
        let recording = record(c("makes_code").build());
        let recording = if with_names { recording.with_names() } else { recording };
        let (_, capture) = recording.succeed();
        let _ = fs::remove_file(format!("/tmp/perf-{}.map", pid(&capture)));
        let told = stack(&capture, 3001);
        assert_eq!(told[0], ("add".to_owned(), "/srv/app.js".to_owned(), 12), "{told:?}");
        let untold = capture.row_of_size(3002);
        assert_eq!(untold.value["stack"][0]["function"], serde_json::Value::Null);
        assert_eq!(untold.value["stack"][0]["reason"], "Code made at run time was not told of");
        assert!(untold.frames[0].module.starts_with("[anonymous code (JIT?) of "), "{untold:?}");
        if with_names {
            assert!(told.iter().any(|(function, ..)| function == "main"), "{told:?}");
            let text = capture.show(&["report", "--by", "allocations"]);
            assert!(text.text().contains("<in anonymous code (JIT?)>"), "{}", text.text());
        }
    }
}

/// Check that names and lines are read from a log, although the program ends as soon as it has written it.
#[test]
fn functions_have_names_and_lines_of_a_log() {
    let (_, capture) = record(c("makes_code").build()).args(["/tmp"]).with_names().succeed();
    let _ = fs::remove_file(format!("/tmp/jit-{}.dump", pid(&capture)));
    let told = stack(&capture, 3001);
    assert_eq!(told[0], ("logged".to_owned(), "/srv/source.py".to_owned(), 42), "{told:?}");
}

/// Check that functions of scripts have their names, files and lines in a real program with a JIT compiler.
#[test]
fn functions_of_scripts_have_names() {
    if !Path::new("/usr/bin/node").exists() {
        return skip("names of scripts", "there is no node");
    }
    let world = World::new();
    let script = world.path("script.js");
    let source = "function innermost(n) { return Buffer.allocUnsafeSlow(70001 + n % 2); }\n\
                  function outer(n) { return innermost(n).length; }\n\
                  let sum = 0;\n\
                  for (let i = 0; i < 3000; i++) sum += outer(i);\n\
                  console.log(sum > 0);\n";
    fs::write(&script, source).expect("a script can be written");
    let node = record("node").args(["--perf-basic-prof".as_ref(), script.as_os_str()]);
    let (_, capture) = node.world(world).with_names().run();
    let _ = fs::remove_file(format!("/tmp/perf-{}.map", pid(&capture)));
    let report = capture.report(&["--functions", "--by", "bytes"]);
    let functions = report["functions"].as_array().expect("a list");
    for name in ["innermost", "outer"] {
        let found = functions.iter().find(|function| function["function"] == name);
        let bytes = found.and_then(|function| function["total_bytes"].as_i64()).unwrap_or(0);
        assert!(bytes > 70_001 * 1000, "{name} has {bytes} bytes");
    }
}
