//! Programs in Go that call C.

use crate::harness::{World, installed, record, skip, wait};
use std::path::Path;

/// Check that stacks go on from C to the goroutine that called it, whichever stack that is on, through Go that C has
/// called, and to where the goroutine began; and that what is called on a stack that was moved meanwhile is not made
/// up.
#[test]
fn stacks_go_on_in_goroutines() {
    // Other processors have other code there.
    if installed("go").is_none() || cfg!(not(target_arch = "x86_64")) {
        return skip("Go", "not installed, or not this processor");
    }
    let world = World::new();
    let program = world.path("calls_c");
    let mut build = std::process::Command::new("go");
    build.args(["build", "-o"]).arg(&program);
    build.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/go/calls_c.go"));
    let built = wait(&world, build);
    assert_eq!(built.code, 0, "{}", built.stderr);

    let (_, capture) = record(program).world(world).with_names().succeed();
    let stack = |size| {
        let row = capture.row_of_size(size);
        let mut names = row.names();
        names.dedup();
        (row.state.clone(), names.join(" < "))
    };
    let is_complete = |size: u64, parts: &[&str]| {
        let (state, names) = stack(size);
        let mut rest = names.as_str();
        for part in parts {
            rest = rest.split_once(part).unwrap_or_else(|| panic!("no {part} in its place: {names}")).1;
        }
        assert!(state == "complete" && rest.is_empty(), "{state}: {names}");
    };
    is_complete(1001, &["asmcgocall", "runtime.cgocall", "main.main", "runtime.main", "runtime.goexit.abi0"]);
    is_complete(
        2001,
        &["asmcgocall", "runtime.cgocall", "main.deep", "main.main.func1", "runtime.goexit.abi0"],
    );
    is_complete(
        3002,
        &[
            "asmcgocall",
            "main.goBack",
            "cgocallback",
            "crosscall2",
            "through",
            "asmcgocall",
            "main.deep",
            "runtime.goexit.abi0",
        ],
    );
    // The outer call's frame pointer leads to where the stack was.
    for size in [3003, 3004] {
        let (state, names) = stack(size);
        assert!(
            state == "incomplete" && names.ends_with("through < runtime.asmcgocall.abi0 < runtime.cgocall"),
            "{names}"
        );
    }
}
