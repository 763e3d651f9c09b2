//! `check` and `run --check`: rules for a program's memory, as used on build servers.

use crate::harness::{World, c, record, wait};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Check each limit on both sides of the true number: 1 MiB and four blocks at the peak, 350 bytes kept, 25 allocations,
/// 20 of them temporary.
#[test]
fn limits_are_exact() {
    let (_, capture) = record(c("keeps_some").build()).with_names().succeed();
    let peak = (1 << 20) + 350 + 64;
    for (option, kept, broken) in [
        ("--max-peak", peak.to_string(), (peak - 1).to_string()),
        ("--max-leaked", "350".to_owned(), "349".to_owned()),
        ("--max-allocations", "25".to_owned(), "24".to_owned()),
        ("--max-temporary", "20".to_owned(), "19".to_owned()),
    ] {
        let ran = capture.show(&["check", option, &kept]);
        assert_eq!(
            (ran.code, ran.text().starts_with("ok ")),
            (0, true),
            "{option}: {}{}",
            ran.text(),
            ran.stderr
        );
        let ran = capture.show(&["check", option, &broken]);
        assert_eq!((ran.code, ran.text().starts_with("FAIL ")), (1, true), "{option}: {}", ran.text());
        let stacks = ran.text().lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
        let is_of_program = |stack: &String| stack.contains("(keeps_some.c:") && stack.contains("main");
        assert!((1..=3).contains(&stacks.len()) && stacks.iter().all(is_of_program), "{}", ran.text());
    }
    let ran = capture.show(&["check", "--max-leaked", "50", "--filter", "not leaky"]);
    assert_eq!(ran.code, 0, "{}{}", ran.text(), ran.stderr);
    let ran = capture.show(&["check"]);
    assert!(ran.code == 2 && ran.stderr.contains("no rule given"), "{}", ran.stderr);
}

/// Check that a capture passes with itself as the baseline, that it exceeds a smaller one, and that JSON and `JUnit`
/// agree with the text.
#[test]
fn baselines_and_formats_agree() {
    let (_, small) = record(c("allocates_once").build()).with_names().succeed();
    let (_, capture) = record(c("keeps_some").build()).with_names().succeed();
    let file = capture.file().to_string_lossy().into_owned();
    let ran = capture.show(&["check", "--baseline", &file]);
    assert_eq!((ran.code, ran.text().lines().count()), (0, 4), "{}{}", ran.text(), ran.stderr);

    let small = small.file().to_string_lossy().into_owned();
    let rules = ["check", "--baseline", &small, "--tolerance", "5%"];
    let ran = capture.show(&rules);
    let failed = ran.text().lines().filter(|line| line.starts_with("FAIL")).count();
    assert!(ran.code == 1 && failed > 0, "{}", ran.text());
    let json = capture.show(&[&rules[..], &["--format", "json"]].concat());
    let document: Value = serde_json::from_str(json.text()).unwrap();
    let broken = document["rules"].as_array().unwrap().iter().filter(|rule| rule["kept"] == false).count();
    assert_eq!((json.code, broken, &document["kept"]), (1, failed, &Value::Bool(false)));
    let junit = capture.show(&[&rules[..], &["--format", "junit"]].concat());
    assert_eq!((junit.code, junit.text().matches("<failure ").count()), (1, failed), "{}", junit.text());
    assert!(junit.text().contains(&format!("tests=\"4\" failures=\"{failed}\"")), "{}", junit.text());
}

/// Check that neither `check` nor `diff --fail-over` passes a capture whose end is missing.
#[test]
fn cut_captures_are_not_passed() {
    let (_, capture) = record(c("keeps_some").build()).with_names().succeed();
    let whole = capture.file().to_string_lossy().into_owned();
    let world = World::new();
    let bytes = fs::read(&whole).unwrap();
    fs::write(world.path("cut.memprof"), &bytes[..bytes.len() - 100]).unwrap();
    let cut = world.path("cut.memprof").to_string_lossy().into_owned();
    let code = |arguments: &[&str]| {
        let ran = wait(&world, world.tool(arguments));
        (ran.code, ran.stderr)
    };
    for (file, expected) in [(&whole, 0), (&cut, 2)] {
        let (code, said) = code(&["check", file, "--max-leaked", "1M"]);
        assert_eq!(code, expected, "{said}");
    }
    for (file, limit, expected) in [(&whole, "1M", 0), (&cut, "1M", 2)] {
        let (code, said) = code(&["diff", &whole, file, "--by", "allocations", "--fail-over", limit]);
        assert_eq!(code, expected, "{said}");
    }
}

/// Runs the program under rules; returns the exit code and what was printed.
fn run_checked(world: &World, rules: &str, arguments: &[&str]) -> (i32, String) {
    fs::write(world.path("rules.toml"), rules).unwrap();
    let mut tool = world.tool(["run", "--check"]);
    tool.arg(world.path("rules.toml")).args(arguments);
    let ran = wait(world, tool);
    (ran.code, ran.stderr)
}

fn captures(world: &World) -> usize {
    let entries = fs::read_dir(world.path("")).unwrap();
    entries
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".memprof"))
        .count()
}

/// Check that `run --check` exits with the target's code if that failed, 1 if a rule is broken, and 2 before anything
/// runs if the rules are invalid; and that the capture is kept exactly when somebody will want it.
#[test]
fn run_and_check_in_one() {
    let program = c("keeps_some").build();
    let program = program.to_str().unwrap();
    let world = World::new();
    let (kept, broken) = ("max-leaked = 350", "max-leaked = 349");
    let (code, said) = run_checked(&world, kept, &["--", program]);
    assert_eq!((code, captures(&world)), (0, 0), "{said}");
    assert!(said.starts_with("ok "), "{said}");
    let (code, said) = run_checked(&world, broken, &["--", program]);
    assert_eq!((code, captures(&world)), (1, 1), "{said}");
    assert!(said.contains("FAIL  leaked"), "{said}");
    let (code, said) = run_checked(&world, broken, &["--", program, "7"]);
    assert_eq!((code, captures(&world)), (7, 2), "{said}");
    let (code, said) = run_checked(&world, kept, &["--", program, "7"]);
    assert_eq!((code, captures(&world)), (7, 3), "{said}");
    let output = world.path("named.memprof");
    let (code, said) = run_checked(&world, kept, &["-o", output.to_str().unwrap(), "--", program]);
    assert!(code == 0 && output.exists(), "{said}");
    let (code, said) = run_checked(&world, "max-leeked = 1", &["--", program]);
    assert!(code == 2 && captures(&world) == 4, "{said}");
    let (code, said) = run_checked(&world, "baseline = \"none.memprof\"", &["--", program]);
    assert!(code == 2 && said.contains("none.memprof"), "{said}");
}

/// Check that a rule for a function that does not exist is undecided in every format, even if a recording says as little
/// as possible, and that a filter for a function works if the recording did not look up names.
#[test]
fn filters_that_match_nothing_are_undecided() {
    let (_, capture) = record(c("keeps_some").build()).with_names().succeed();
    let idle = "its filter matches no stack of the capture (the capture has no function `leakey`; the nearest: leaky)";
    for format in ["text", "json", "junit"] {
        let ran = capture.show(&["check", "--max-leaked", "0", "--filter", "leakey", "--format", format]);
        assert_eq!((ran.code, ran.text().contains(idle)), (2, true), "{format}: {}", ran.text());
    }
    let program = c("keeps_some").build();
    let program = program.to_str().unwrap();
    let world = World::new();
    let rules = |filter: &str| format!("[[rule]]\nfilter = \"{filter}\"\nmax-leaked = 0\n");
    let (code, said) = run_checked(&world, &rules("leakey"), &["--quiet", "--", program]);
    assert!(code == 2 && said.contains(idle), "{said}");
    let (code, said) = run_checked(&world, &rules("leaky"), &["--no-symbolize", "--", program]);
    assert!(code == 1 && said.contains("FAIL  leaked"), "{said}");
}

/// Check that a list of suppressions beside the rules is found and used, and that what it hides is shown.
#[test]
fn suppressions_are_shared() {
    let (_, capture) = record(c("keeps_some").build()).with_names().succeed();
    let world = capture.world();
    fs::write(world.path("app.supp"), "# kept on purpose\nleak:cache\nleak:never_met\n").unwrap();
    fs::write(world.path("rules.toml"), "suppressions = [\"app.supp\"]\nmax-leaked = 300\n").unwrap();
    let rules = world.path("rules.toml");
    let ran = capture.show(&["check", "--rules", rules.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}{}", ran.text(), ran.stderr);
    let list = world.path("app.supp");
    let ran = capture.show(&["leaks", "--suppressions", list.to_str().unwrap()]);
    assert!(ran.text().contains("300 B in 3 blocks") && ran.text().contains("unused"), "{}", ran.text());
}

/// Check that what libc and libstdc++ keep for themselves is no leak of a program, but is shown on request.
#[test]
fn what_libraries_keep_is_left_out() {
    let (_, capture) = record(crate::harness::cpp("frees_everything").flags(["-O2"]).build())
        .args(["2", "100"])
        .with_names()
        .succeed();
    let leaked = |options: &[&str]| -> Value {
        let ran = capture.show(&[&["leaks", "--json"], options].concat());
        serde_json::from_str(ran.text()).unwrap()
    };
    let all = leaked(&["--no-default-suppressions"]);
    let rest = leaked(&[]);
    assert!(all["leaked"]["bytes"].as_u64().unwrap() >= 72_704, "the pool for exceptions: {all:#}");
    assert_eq!(rest["leaked"]["bytes"], 0, "{rest:#}");
    assert_eq!(rest["suppressed"]["bytes"], all["leaked"]["bytes"]);
}

/// The cargo that runs these tests, with the compiler beside it.
fn cargo(folder: &Path) -> Command {
    let cargo = std::env::var_os("CARGO").expect("cargo runs these tests");
    let mut command = Command::new(&cargo);
    command.current_dir(folder).env("RUSTC", Path::new(&cargo).with_file_name("rustc"));
    for name in ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET", "RUSTFLAGS", "LD_PRELOAD"] {
        command.env_remove(name);
    }
    command
}

/// Check that cargo runs tests under rules with our command as its runner: a test that leaks fails the run, one that
/// does not passes.
#[test]
fn cargo_runs_tests_under_rules() {
    let world = World::new();
    let folder = world.path("crate");
    fs::create_dir_all(folder.join("tests")).unwrap();
    fs::write(folder.join("Cargo.toml"), "[package]\nname = \"checked\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[lib]\npath = \"lib.rs\"\ntest = false\ndoctest = false\n").unwrap();
    fs::write(folder.join("lib.rs"), "pub fn keep(size: usize) { std::mem::forget(vec![1u8; size]); }\n")
        .unwrap();
    fs::write(folder.join("tests/keeps.rs"), "#[test]\nfn keeps() { checked::keep(std::env::var(\"SIZE\").map_or(0, |size| size.parse().unwrap())); }\n").unwrap();
    fs::write(folder.join("rules.toml"), "[[rule]]\nfilter = \"checked::keep\"\nmax-leaked = 1000\n")
        .unwrap();
    let tool = world.tool([] as [&str; 0]).get_program().to_owned();
    let runner = format!("{} run --quiet --check rules.toml --", tool.to_string_lossy());
    for (size, passes) in [("1000", true), ("1001", false)] {
        let mut command = cargo(&folder);
        command.args(["test", "--offline", "--quiet", "--test", "keeps"]).env("SIZE", size);
        command.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", &runner);
        let ran = wait(&world, command);
        assert_eq!(ran.code == 0, passes, "{size}: {}{}", ran.text(), ran.stderr);
        assert!(ran.text().contains("1 passed"), "{}", ran.text());
        assert_eq!(ran.stderr.contains("FAIL  leaked"), !passes, "{}", ran.stderr);
    }
}
