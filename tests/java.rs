//! Java's virtual machine, whose interpreter calls C.

use crate::harness::{World, installed, record, skip, wait};
use std::path::Path;

/// Check that stacks go on through the interpreter to where the thread began, with one frame for each Java method.
#[test]
fn stacks_go_on_through_the_interpreter() {
    if installed("javac").is_none() || cfg!(not(target_arch = "x86_64")) {
        return skip("Java", "not installed, or not this processor");
    }
    let world = World::new();
    let mut compile = world.command("javac");
    compile.arg("-d").arg(world.path(""));
    compile.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/java/Deep.java"));
    let compiled = wait(&world, compile);
    assert_eq!(compiled.code, 0, "{}", compiled.stderr);
    let classes = world.path("");

    let interpreted = |depth: &str| {
        let recording = record("java").args(["-Xint", "-cp"]).arg(&classes).args(["Deep", depth]);
        let (_, capture) = recording.options(["--no-cpu"]).with_names().succeed();
        let rows = capture.rows();
        let row = rows.iter().find(|row| row.names().iter().any(|name| name.ends_with("Deflater_init")));
        let row = row.unwrap_or_else(|| panic!("nobody called deflateInit: {rows:#?}"));
        assert_eq!(row.state, "complete", "{:#}", row.value);
        assert!(row.names().iter().any(|name| name == "start_thread"), "{:?}", row.names());
        row.frames.iter().filter(|frame| frame.module.starts_with("[anonymous code")).count()
    };
    assert_eq!(interpreted("60") - interpreted("10"), 50);
}

/// Check that compiled methods have names, which the virtual machine was told to write down, and that the file is gone.
#[test]
fn compiled_methods_have_names() {
    if installed("javac").is_none() {
        return skip("Java", "not installed");
    }
    let world = World::new();
    let mut compile = world.command("javac");
    compile.arg("-d").arg(world.path(""));
    compile.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/java/Deep.java"));
    let compiled = wait(&world, compile);
    assert_eq!(compiled.code, 0, "{}", compiled.stderr);
    let classes = world.path("");

    let recording =
        record("java").args(["-Xcomp", "-XX:CompileCommand=dontinline,Deep.call", "-cp"]).arg(&classes);
    let (ran, capture) = recording.args(["Deep", "20"]).options(["--no-cpu"]).with_names().succeed();
    let told = "-XX:+PreserveFramePointer";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    let rows = capture.rows();
    let row = rows.iter().find(|row| row.names().iter().any(|name| name.ends_with("Deflater_init")));
    let row = row.unwrap_or_else(|| panic!("nobody called deflateInit: {rows:#?}"));
    assert_eq!(row.state, "complete", "{:#}", row.value);
    let calls = row.names().iter().filter(|name| name.contains("Deep.call(int)")).count();
    // The innermost may have been interpreted after all, since it uses a class that was not loaded before.
    assert!((20..=21).contains(&calls), "{:?}", row.names());
    let info = capture.info();
    assert!(info["remarks"].to_string().contains("by JAVA_TOOL_OPTIONS"), "{}", info["remarks"]);
    let pid = info["processes"][0]["pid"].as_u64().expect("a pid");
    assert!(!Path::new(&format!("/tmp/perf-{pid}.map")).exists());
}
