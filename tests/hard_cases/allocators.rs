//! Programs with allocators of their own: each keeps its allocator and is recorded, or the reason why not is given.

use super::super::harness::{
    Capture, Fixture, World, c, can_sample, cpp, for_musl, installed, record, rust, skip, wait,
};
use super::libraries::system_library;
use std::path::{Path, PathBuf};

/// Allocators by the names of their libraries, and whether `new` throws: mimalloc's ends a program when memory runs
/// out.
const ALLOCATORS: [(&str, bool); 4] = [
    ("libjemalloc.so.2", true),
    ("libtcmalloc.so.4", true),
    ("libtcmalloc_minimal.so.4", true),
    ("libmimalloc.so.2", false),
];

/// Allocations and frees of blocks of this size, whose calls are all named `call`.
fn calls(capture: &Capture, size: u64, call: &str) -> (u64, u64) {
    let mut rows = capture.rows_of_size(size);
    rows.retain(|row| row.call == call);
    let sum = |field| rows.iter().map(|row| row.number(field)).sum();
    (sum("allocations"), sum("frees"))
}

/// Checks that each `new` and `delete` of `allocates_by_new` is recorded once, with its size, and that the program
/// uses the same allocator as alone and failures pass through. `array_new` is the name of the array form of `new`
/// there.
fn check_news(program: &Path, preloaded: Option<&Path>, is_own: bool, throws: bool, array_new: &str) {
    let mut recording = record(program).arg(if throws { "fails" } else { "never-fails" });
    if let Some(preloaded) = preloaded {
        recording = recording.env("LD_PRELOAD", preloaded);
    }
    let (ran, capture) = recording.succeed();
    let expected = format!("{} {}\n", u8::from(is_own), if throws { "1 1 2" } else { "0 0 0" });
    let what = format!("{} {preloaded:?}", program.display());
    assert_eq!(ran.text(), expected, "{what}");
    for (size, call) in [
        (3101, "operator new"),
        (3102, array_new),
        (3103, "operator new"),
        (3104, "operator new (aligned)"),
        (3200, "operator new (aligned)"),
        (3106, "malloc"),
        (3107, "realloc"),
    ] {
        assert_eq!(calls(&capture, size, call), (100, 100), "{what}: {call} of {size}");
    }
    if throws {
        assert_eq!(calls(&capture, 3105, "malloc"), (2, 2), "{what}: in the handler");
        assert_eq!(calls(&capture, 3108, "operator new"), (1, 1), "{what}: given up by the handler");
    }
    assert_eq!(calls(&capture, 3109, "operator new"), (1, 1), "{what}: after the failures");
    assert!(capture.rows_of_size(0).is_empty(), "{what}");
}

/// Check that C++ is exact on libc's allocator and on allocators that bring an operator new of their own, linked and
/// preloaded: each call is recorded once with the requested size, failures and handlers pass through, and the
/// allocator itself reports that it was used.
#[test]
fn cpp_is_exact_on_its_allocator() {
    let program = cpp("allocates_by_new").flags(["-O1", "-fno-builtin"]);
    check_news(&program.build(), None, false, true, "operator new[]");
    for (name, throws) in ALLOCATORS {
        let Some(path) = system_library(name) else {
            skip(name, "not installed");
            continue;
        };
        check_news(&program.build(), Some(&path), true, throws, "operator new[]");
        let linked = program.clone().flags(["-Wl,--no-as-needed"]).with(&path);
        check_news(&linked.build(), None, true, throws, "operator new[]");
    }
}

/// Records a program with the messages of `run`.
fn record_loudly(program: &Path) -> (i32, String, String) {
    let world = World::new();
    let mut command = world.tool(["run", "--no-symbolize", "--output", "it.memprof", "--"]);
    command.arg(program);
    let ran = wait(&world, command);
    (ran.code, ran.text().to_string(), ran.stderr)
}

/// Checks that `run` says in one line that a program has an allocator of its own, with its name and what to do.
fn check_said(program: &Path, name: &str) {
    let (code, text, messages) = record_loudly(program);
    assert_eq!((code, text.as_str()), (0, "it ran\n"), "{messages}");
    let said: Vec<_> = messages.lines().filter(|line| line.contains("warning: ")).collect();
    assert_eq!(said.len(), 1, "{messages}");
    assert!(said[0].contains(name) && said[0].contains("are not recorded. To see them"), "{messages}");
}

/// Check that a program which exports a malloc of its own keeps it, and is recorded on it.
#[test]
fn own_malloc_is_recorded() {
    let program = c("own_malloc").flags(["-rdynamic", "-fno-builtin"]);
    for flags in [&["-O0"][..], &["-O2", "-no-pie"]] {
        let (ran, capture) = record(program.clone().flags(flags.iter().copied()).build()).succeed();
        assert_eq!((ran.text(), ran.stderr.as_str()), ("its own 1\n", ""));
        let row = capture.row_of_size(8);
        assert_eq!((row.number("allocations"), row.number("frees")), (1, 1), "of libc's strdup: {row:?}");
    }
}

/// Check that functions of an allocator are recorded however long they are.
#[test]
fn huge_functions_of_an_allocator_are_recorded() {
    let (ran, capture) =
        record(c("huge_malloc").flags(["-O0", "-rdynamic", "-fno-builtin"]).build()).succeed();
    assert_eq!(ran.stderr, "");
    let row = capture.row_of_size(1001);
    assert_eq!((row.number("allocations"), row.number("frees")), (100, 100), "{row:?}");
}

/// Allocations and frees of blocks of some sizes in `has_an_allocator_inside`.
const INSIDE: [(u64, u64, u64); 3] = [(1001, 100, 50), (1002, 100, 50), (1088, 100, 50)];

/// Check that allocators inside programs are recorded with names of every kind, including their blocks' alignments
/// and sizes, and that every call is recorded once, though some functions call each other.
#[test]
fn allocators_inside_programs_are_recorded() {
    let program = c("has_an_allocator_inside").flags(["-O2", "-fno-builtin", "-rdynamic"]);
    let kin: &[(u64, u64, u64)] = &[(1003, 100, 100), (1004, 100, 50), (1152, 100, 50), (15, 100, 50)];
    let others: &[(u64, u64, u64)] = &[(1003, 100, 100), (1004, 100, 50), (1005, 100, 100), (1006, 100, 50)];
    for (family, more) in [("0", kin), ("1", others), ("2", others)] {
        for flags in [&[][..], &["-no-pie", "-fcf-protection"]] {
            let define = format!("-DFAMILY={family}");
            let program = program.clone().flags([define]).flags(flags.iter().copied()).build();
            let (ran, capture) = record(&program).succeed();
            assert_eq!(ran.stderr, "");
            for (size, allocations, frees) in INSIDE.iter().chain(more) {
                let rows = capture.rows_of_size(*size);
                let sum = |field| rows.iter().map(|row| row.number(field)).sum::<u64>();
                let found = (sum("allocations"), sum("frees"));
                assert_eq!(found, (*allocations, *frees), "family {family} {flags:?}, {size} bytes");
            }
            assert_eq!(capture.rows().iter().map(|row| row.number("allocations")).sum::<u64>(), 700);
        }
    }
}

/// Check that a program's own malloc which forwards to libc's is recorded once, though we interpose both.
#[test]
fn mallocs_that_go_on_to_the_next_count_once() {
    let program = c("wraps_malloc").flags(["-O2", "-fno-builtin"]).build();
    let (_, capture) = record(&program).succeed();
    for (size, allocations, frees) in [(777, 100, 50), (10, 1, 1)] {
        let row = capture.row_of_size(size);
        assert_eq!((row.number("allocations"), row.number("frees")), (allocations, frees), "{row:?}");
    }
}

/// Check that functions that only jemalloc has are recorded, in its library or inside the program.
#[test]
fn functions_of_jemalloc_are_recorded() {
    let archive = Path::new("/usr/lib/x86_64-linux-gnu/libjemalloc_pic.a");
    let library = system_library("libjemalloc.so.2");
    for (path, flags) in [
        (library, &[][..]),
        (archive.exists().then(|| archive.to_owned()), &["-lm", "-lstdc++", "-ldl", "-rdynamic"]),
    ] {
        let Some(path) = path else {
            skip("functions of jemalloc", "it is not installed");
            continue;
        };
        let program = c("calls_jemalloc").flags(["-O1", "-fno-builtin"]).with(&path);
        let (ran, capture) = record(program.flags(flags.iter().copied()).build()).succeed();
        assert_eq!(ran.stderr, "");
        for (size, frees) in [(1001, 50), (1088, 50), (1003, 100), (5004, 50)] {
            let row = capture.row_of_size(size);
            let found = (row.number("allocations"), row.number("frees"));
            assert_eq!(found, (100, frees), "{}: {size} bytes", path.display());
        }
    }
}

/// Check that functions which only tcmalloc or mimalloc has are recorded, each once, in a library that the program is
/// linked with and in one that is preloaded before others, beside the functions of C for the same blocks.
#[test]
fn functions_of_tcmalloc_and_mimalloc_are_recorded() {
    for (name, define) in [("libtcmalloc_minimal.so.4", "-DTCMALLOC"), ("libmimalloc.so.2", "-DMIMALLOC")] {
        let Some(path) = system_library(name) else {
            skip(name, "not installed");
            continue;
        };
        let program = c("calls_a_family").flags(["-O1", "-fno-builtin", define]).with(&path);
        let (ran, capture) = record(program.build()).succeed();
        assert_eq!(ran.stderr, "");
        for size in [13, 17, 1001, 1002, 1005, 1006, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 1015] {
            let rows = capture.rows_of_size(size);
            let sum = |field| rows.iter().map(|row| row.number(field)).sum::<u64>();
            assert_eq!((sum("allocations"), sum("frees")), (100, 100), "{name}: {size} bytes");
        }
        assert_eq!(capture.number("/totals/unmatched_frees"), 0, "{name}");
        assert_eq!(capture.number("/totals/conflicts"), 0, "{name}");
        let remarks = capture.info()["remarks"].to_string();
        assert!(!remarks.contains("not recorded"), "{name}: {remarks}");
    }
}

/// Check that one sentence with the program's name says when an allocator inside cannot be recorded, or is not to be,
/// and that the program runs as it does alone.
#[test]
fn allocators_that_cannot_be_recorded_are_said() {
    let program = c("has_an_allocator_inside").flags(["-O2", "-fno-builtin", "-rdynamic", "-DFAMILY=0"]);
    for (program, inside) in [(program.clone().flags(["-DODD"]), "1"), (program, "0")] {
        let recording = record(program.build()).env("SYSPROF_MEMPROF_INSIDE", inside);
        let (ran, capture) = recording.run();
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        let remarks = capture.info()["remarks"].to_string();
        let name = "an allocator inside the program: has_an_allocator_inside";
        assert!(remarks.contains(name) && remarks.contains("To see them, build"), "{remarks}");
        assert!(capture.rows().is_empty(), "none of its functions, if not all");
    }
}

/// Check that in a program which forks and executes others each keeps its own allocator and all are recorded.
#[test]
fn programs_with_allocators_inside_are_recorded_in_trees() {
    let inside = c("has_an_allocator_inside").flags(["-O2", "-fno-builtin", "-DFAMILY=1"]).build();
    let script = format!("{0} & {0}; wait", inside.display());
    let (_, capture) = record("sh").args(["-c", &script]).succeed();
    let rows = capture.rows_of_size(1001);
    assert_eq!(rows.iter().map(|row| row.number("allocations")).sum::<u64>(), 200, "{rows:?}");
}

/// Check that an allocator which the agent does not know is recognised by its functions before the start, and that
/// allocators from archives, which a program's malloc comes from, are exact in C++.
#[test]
fn statically_linked_allocators_are_recorded_or_said() {
    for (function, name) in [("TCMallocInternalMalloc", "tcmalloc"), ("rpmalloc", "rpmalloc")] {
        let define = format!("-DFUNCTION={function}");
        check_said(&c("brings_an_allocator").flags([define]).build(), name);
    }
    let (_, capture) = record(c("brings_an_allocator").flags(["-DFUNCTION=tc_malloc"]).build()).succeed();
    assert_eq!(capture.row_of_size(10).number("allocations"), 1);
    let program = cpp("allocates_by_new").flags(["-O1", "-fno-builtin", "-rdynamic"]);
    // In tcmalloc both forms are one function with two names.
    for (name, array_new, flags) in [
        ("libjemalloc_pic.a", "operator new[]", &["-lm", "-ldl"][..]),
        ("libtcmalloc_minimal.a", "operator new", &["-lm", "-ldl", "-no-pie"]),
    ] {
        let path = Path::new("/usr/lib/x86_64-linux-gnu").join(name);
        if !path.exists() {
            skip(name, "not installed");
            continue;
        }
        let program = program.clone().flags(["-Wl,--whole-archive"]).with(&path);
        let program = program.flags(["-Wl,--no-whole-archive"]).flags(flags.iter().copied()).build();
        check_news(&program, None, true, true, array_new);
    }
}

/// Check that a Rust program whose global allocator has the names of jemalloc's crate is recorded.
#[test]
fn own_allocator_of_rust_is_recorded() {
    if installed("rustc").is_none() {
        return skip("allocators of Rust", "rustc is not installed");
    }
    let (ran, capture) = record(rust("own_allocator").build()).succeed();
    assert_eq!((ran.text(), ran.stderr.as_str()), ("it ran\n", ""));
    let row = capture.row_of_size(6);
    assert_eq!((row.number("allocations"), row.number("frees")), (1, 1), "the joined text: {row:?}");
}

/// Checks that a program is refused before it starts, with code 2, in one line that says why.
fn check_refused(program: &Path, why: &str) {
    let (code, text, messages) = record_loudly(program);
    assert_eq!((code, text.as_str()), (2, ""), "{why}: {messages}");
    assert!(messages.contains(why) && messages.trim_end().lines().count() == 1, "{why}: {messages}");
}

/// Builds a program, or reports that this is impossible here.
pub(super) fn try_build(fixture: &Fixture, compiler: &str, flags: &[&str]) -> Option<PathBuf> {
    let world = World::new();
    world.write("empty.c", "int main(void) { return 0; }\n");
    let mut probe = world.command(compiler);
    probe.args(flags).args(["-o", "empty", "empty.c"]);
    if installed(compiler).is_none() || wait(&world, probe).code != 0 {
        skip(&format!("{compiler} {}", flags.join(" ")), "cannot be built here");
        return None;
    }
    Some(fixture.clone().flags(flags.iter().copied()).build())
}

/// Check that programs that cannot be preloaded into are refused before the start, each kind by its name.
#[test]
fn programs_that_cannot_be_recorded_are_refused() {
    let fixture = c("allocates_once");
    for (flags, why) in [(&["-static"][..], "is statically linked"), (&["-m32"], "is a 32-bit program")] {
        if let Some(program) = try_build(&fixture, "cc", flags) {
            check_refused(&program, why);
        }
    }
    let world = World::new();
    let copy = world.path("copy");
    let script = "cp \"$1\" \"$2\" && chmod u+s \"$2\"";
    let mut command = world.command("sh");
    command.args(["-c", script, "sh"]).arg(fixture.build()).arg(&copy);
    assert_eq!(wait(&world, command).code, 0);
    check_refused(&copy, "has the setuid bit");
    if let Some(fixture) = for_musl("allocates_once") {
        check_refused(&fixture.flags(["-static"]).build(), "is statically linked");
    }
}

/// Check that programs with `AddressSanitizer` run when a recorded program starts them in any way, which the
/// recording reports, that other programs are recorded as before, and that the agent in `LD_PRELOAD` does not stop
/// them without a recording, either. A program that preloads the runtime itself is left alone.
#[test]
fn sanitized_programs_are_started_without_the_agent() {
    let Some(sanitized) = try_build(&c("allocates_once"), "cc", &["-fsanitize=address"]) else { return };
    let (ran, capture) = record(c("starts_programs").build()).arg(&sanitized).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    if can_sample() {
        let remarks = capture.info()["remarks"].to_string();
        assert!(remarks.contains("not recorded: allocates_once (8 times)."), "{remarks}");
    }
    assert!(capture.rows_of_size(1001).is_empty(), "its runtime does not start behind us");
    assert!(!capture.rows_of_size(900).is_empty(), "who has started it is recorded");

    let folder = sanitized.parent().expect("it lies in a folder").display().to_string();
    let path = format!("PATH=/nonexistent::{folder}:/usr/bin:/bin");
    let name = sanitized.file_name().expect("it has a name").to_string_lossy().into_owned();
    let usual = c("allocates_once").build();
    let script = format!("{name} && {}", usual.display());
    let (ran, capture) = record("env").args([&path, "sh", "-c", &script]).run();
    assert_eq!((ran.code, capture.row_of_size(1001).number("allocations")), (0, 1), "{}", ran.stderr);
    let (ran, _) = record("env").args([&path, &name]).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);

    let world = World::new();
    let runtime = wait(&world, {
        let mut command = world.command("cc");
        command.arg("-print-file-name=libasan.so");
        command
    });
    let runtime = std::fs::canonicalize(runtime.text().trim()).expect("it is there");
    let preload = format!("LD_PRELOAD={}", runtime.display());
    let (ran, _) =
        record("env").args([&preload, "ASAN_OPTIONS=detect_leaks=0", "sh", "-c", "exec true"]).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let refused = record("true").env("LD_PRELOAD", runtime).env("ASAN_OPTIONS", "detect_leaks=0");
    let ran = refused.start().wait();
    assert!(ran.code == 2 && ran.stderr.contains("env -u LD_PRELOAD"), "{}", ran.stderr);

    let agent = wait(&world, world.tool(["agent", "path"])).text().trim().to_string();
    let mut command = world.command(c("starts_programs").build());
    command.arg(&sanitized).env("LD_PRELOAD", agent);
    let ran = wait(&world, command);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

/// Check that programs with a sanitizer, whether its runtime is linked or a library, are refused in one line.
#[test]
fn sanitized_programs_are_refused() {
    for sanitizer in ["address", "thread", "leak"] {
        let flag = format!("-fsanitize={sanitizer}");
        if let Some(program) = try_build(&c("allocates_once"), "cc", &[&flag]) {
            check_refused(&program, "is built with a sanitizer");
        }
        let linked = if sanitizer == "address" { "-static-libasan" } else { "-static-libtsan" };
        if sanitizer != "leak"
            && let Some(program) = try_build(&c("allocates_once"), "cc", &[&flag, linked])
        {
            check_refused(&program, "is built with a sanitizer");
        }
    }
}
