//! Which names there are, and what is shown where there is none.

use crate::harness::{Capture, World, c, cpp, library, record};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A copy of a program in a world of its own, to be changed there.
fn copy(program: &Path, to: PathBuf) -> PathBuf {
    // By another process: while ours holds a descriptor to write, or a child of another test, nobody can execute it.
    let copied = Command::new("cp").arg(program).arg(&to).status();
    assert!(copied.is_ok_and(|status| status.success()), "{}", to.display());
    to
}

fn report(capture: &Capture) -> String {
    capture.show(&["report", "--by", "allocations", "--tree", "--min", "0%"]).text().to_owned()
}

/// Check that a program has its names although it has deleted its file, and that it has none when another one took its
/// place before it was recorded again: nothing of an earlier recording is remembered.
#[test]
fn deleted_programs_have_names() {
    let world = World::new();
    let program = copy(&c("deletes_itself").build(), world.path("program"));
    let (_, capture) = record(&program).world(world).with_names().succeed();
    assert!(!program.exists(), "it has deleted itself");
    let row = capture.row_of_size(4567);
    assert_eq!(row.names()[..2], ["allocates_afterwards", "main"], "{row:?}");
}

/// Check that a program which is stripped between two recordings has names in the first and none in the second, whose reason
/// is said, and that its main function is still called so.
#[test]
fn stripped_programs_lose_their_names() {
    let world = World::new();
    let program = copy(&c("allocates_once").build(), world.path("program"));
    let (_, first) = record(&program).world(world).with_names().succeed();
    assert!(report(&first).contains(" main"), "{}", report(&first));
    let stripped = Command::new("strip").arg(&program).status();
    assert!(stripped.is_ok_and(|status| status.success()));
    let (_, second) = record(&program).with_names().succeed();
    let text = report(&second);
    assert!(text.contains("<main of program>"), "{text}");
    assert!(text.contains("No symbols in binary file: program"), "{text}");
    assert!(report(&first).contains(" main"), "{}", report(&first));
}

/// Check that functions of one name in two libraries carry their library's name, and others do not.
#[test]
fn namesakes_carry_their_library() {
    let lender = |name: &str, size: u32| {
        let flags = ["-DFUNCTION=same".to_owned(), format!("-DSIZE={size}")];
        library("lends_memory").flags(flags).named(&format!("lib{name}.so")).build()
    };
    let libraries = [lender("one", 1501), lender("two", 1502)];
    let (_, capture) = record(c("loads_libraries").build()).args(&libraries).with_names().succeed();
    let text = report(&capture);
    for name in ["same [libone.so]", "same [libtwo.so]", "lend [libone.so]", "lend_from\n"] {
        assert!(text.contains(name), "{name}: {text}");
    }
}

/// Check that the main functions of two programs are two, each with its own total.
#[test]
fn main_functions_are_told_apart() {
    let world = World::new();
    let program = |name: &str, size: u32| {
        let path = world.path(name);
        let source = format!("#include <stdlib.h>\nint main(void) {{ free(malloc({size})); return 0; }}");
        std::fs::write(world.path("source.c"), source).expect("a file can be written");
        let flags = ["-O0", "-o"];
        let built = Command::new("gcc").args(flags).arg(&path).arg(world.path("source.c")).status();
        assert!(built.is_ok_and(|status| status.success()));
        path
    };
    let (first, second) = (program("first", 3001), program("second", 3002));
    let script = format!("{}; {}", first.display(), second.display());
    let (_, capture) = record("sh").args(["-c", &script]).world(world).with_names().run();
    let functions = capture.report(&["--functions", "--by", "bytes"]);
    let functions = functions["functions"].as_array().expect("a list");
    for (name, bytes) in [("first", 3001), ("second", 3002)] {
        let is_it = |function: &&serde_json::Value| {
            let module = function["module"].as_str().unwrap_or_default();
            function["function"] == "main" && module.ends_with(&format!("/{name}"))
        };
        let found = functions.iter().find(is_it).unwrap_or_else(|| panic!("{name}: {functions:#?}"));
        assert_eq!(found["total_bytes"], bytes, "{name}");
    }
}

/// Check that names can be had as they are in the files, and without template arguments.
#[test]
fn names_are_shown_as_asked_for() {
    let (_, capture) = record(cpp("keeps_in_templates").build()).succeed();
    let text = |options: &[&str]| {
        capture
            .show(&[&["report", "--tree", "--by", "allocations", "--min", "0%"], options].concat())
            .text()
            .to_owned()
    };
    let shown = [
        (&[][..], "keep<std::pair<int, std::pair<long, char> > >()"),
        (&["--short-names"], "std::pair* keep()"),
    ];
    for (options, expected) in [&shown[..], &[(&["--no-demangle"], "_Z4keepI")]].concat() {
        assert!(text(options).contains(expected), "{options:?}: {}", text(options));
    }
    assert!(!text(&[]).contains("_Z4keep"), "{}", text(&[]));
}
