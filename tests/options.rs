//! What each option records, and the exit code of a recording.

use crate::harness::{Capture, Page, World, c, installed, record, skip, wait};
use serde_json::Value;

/// Names of the processes of a capture.
fn names(capture: &Capture) -> Vec<String> {
    let info = capture.info();
    let processes = info["processes"].as_array().expect("a list").iter();
    processes.map(|process| process["name"].as_str().unwrap_or("?").to_string()).collect()
}

/// Check that the exit code is the target's own, or 128 plus the signal that killed it, and that the target is
/// recorded to the end however it ends.
#[test]
fn exit_code_is_the_targets() {
    let ways: [(&str, i32, i32); 12] = [
        ("return", 0, 0),
        ("return", 3, 3),
        ("return", 255, 255),
        ("_exit", 4, 4),
        ("quick_exit", 5, 5),
        ("thread", 6, 6),
        ("signal", 15, 143),
        ("signal", 9, 137),
        ("signal", 1, 129),
        ("signal", 11, 139),
        ("fault", 0, 139),
        ("abort", 0, 134),
    ];
    for (how, code, expected) in ways {
        let (ran, capture) = record(c("ends").build()).args([how, &code.to_string()]).run();
        assert_eq!((ran.code, ran.text()), (expected, "before the end\n"), "{how} {code}: {}", ran.stderr);
        capture.assert_sound();
        assert_eq!(capture.row_of_size(1500).number("frees"), 1, "{how} {code}");
        let process = &capture.info()["processes"][0];
        let (field, value) = if expected < 256 && how != "signal" && how != "fault" && how != "abort" {
            ("exit", expected)
        } else {
            ("signal", expected - 128)
        };
        assert_eq!(process[field], value, "{how} {code}: {process:#}");
    }
}

/// Check that --no-follow records only the target.
#[test]
fn unfollowed_programs_are_not_recorded() {
    let short = c("allocates_once").build();
    let recording = record(c("starts_programs").build()).args([&short]).options(["--no-follow"]);
    let (_, capture) = recording.succeed();
    assert_eq!(names(&capture), ["starts_programs"]);
    assert!(capture.rows_of_size(1001).is_empty());
    let (_, capture) = record(c("forks_once").build()).options(["--no-follow"]).succeed();
    assert_eq!(names(&capture), ["forks_once"]);
    assert!(capture.rows_of_size(502).is_empty());
}

/// Check that --only and --skip choose by the name of the executable, and leave the exit code alone.
#[test]
fn processes_are_chosen_by_name() {
    let short = c("allocates_once").build();
    let starter = c("starts_programs").build();
    for option in [["--only", "allocates_*"], ["--skip", "starts*"]] {
        let (_, capture) = record(&starter)
            .args([&short])
            .options(option)
            .options(["--skip", "sh", "--skip", "dash"])
            .succeed();
        let names = names(&capture);
        assert!(!names.is_empty() && names.iter().all(|name| name == "allocates_once"), "{names:?}");
        assert_eq!(capture.row_of_size(1001).number("allocations"), 8, "{option:?}");
    }
}

/// Check that --no-cmdline stores no command line, neither of the target nor of what it starts.
#[test]
fn command_lines_are_left_out_on_demand() {
    let short = c("allocates_once").build();
    let recording = record(c("starts_programs").build()).args([&short]).options(["--no-cmdline"]);
    let (_, capture) = recording.succeed();
    let info = capture.info();
    assert_eq!(info["command"].as_array().map(Vec::len), Some(0));
    for process in info["processes"].as_array().expect("a list") {
        assert_eq!(process["command"].as_array().map(Vec::len), Some(0), "{process:#}");
    }
    let bytes = std::fs::read(capture.file()).expect("the capture is there");
    assert!(!bytes.windows(11).any(|window| window == b"spawn-empty"), "arguments are in the file");
}

/// Check that a recording has the labels of its machine and the user's, which count more, and a process those that its
/// environment gives it; and that they are a column of tables.
#[test]
fn labels_say_where_it_was_recorded() {
    let recording = record(c("allocates_once").build())
        .env("OTEL_RESOURCE_ATTRIBUTES", "service.name=shop,service.version=1.2")
        .options(["--label", "host.name=elsewhere", "--label", "team=a=b"]);
    let (_, capture) = recording.succeed();
    let info = capture.info();
    assert_eq!((&info["labels"]["host.name"], &info["labels"]["team"]), (&"elsewhere".into(), &"a=b".into()));
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("Linux has a release");
    assert_eq!(info["labels"]["os.version"], release.trim());
    let process = &info["processes"][0]["labels"];
    assert_eq!((&process["service.name"], &process["service.version"]), (&"shop".into(), &"1.2".into()));
    let sql = "select labels ->> '$.team' || labels ->> '$.\"service.name\"' from processes";
    let found = capture.show(&["query", sql]);
    // Builds without SQLite answer no queries.
    assert!(found.code != 0 || found.text().ends_with("a=bshop\n"), "{}", found.text());
}

/// Check that a child which is not followed may limit its memory as it would alone.
#[test]
fn unfollowed_children_may_limit_themselves() {
    let world = World::new();
    let page = Page::new(&world);
    let recording = record(c("limits_itself_late").flags(["-O1", "-fno-builtin"]).build());
    let recording = recording.arg(&page.path).arg("child").world(world).options(["--no-follow"]);
    assert_eq!(recording.run().0.code, 5);
}

/// Check that variables have the effect of recordings' options, and that options take precedence.
#[test]
fn variables_say_what_options_say() {
    let metadata = |options: &[&str]| {
        let recording = record(c("forks_once").build())
            .env("SYSPROF_MEMPROF_FOLLOW", "0")
            .env("SYSPROF_MEMPROF_FREE_STACKS", "1")
            .env("SYSPROF_MEMPROF_MAX_DEPTH", "33")
            .env("SYSPROF_MEMPROF_ON_FULL", "drop")
            .env("SYSPROF_MEMPROF_RING_SIZE", "64K");
        // What small rings lose does not matter here.
        let (ran, capture) = recording.options(options).run();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let info = capture.info();
        ["follow", "free_stacks", "max_depth", "on_full", "ring_size"]
            .map(|name| info["options"][name].as_str().unwrap_or("?").to_owned())
    };
    assert_eq!(metadata(&[]), ["false", "true", "33", "drop", "65536"]);
    let options = ["--follow", "--max-depth", "44", "--on-full", "block", "--ring-size", "128K"];
    assert_eq!(metadata(&options), ["true", "true", "44", "block", "131072"]);
}

/// The innermost and the outermost function of each stack that leaked, and its bytes.
fn leaked(capture: &Capture, options: &[&str]) -> Vec<(String, String, u64)> {
    let report = capture.report(&[&["--by", "leaked"], options].concat());
    let end = |row: &Value, place: usize| row["stack"][place]["function"].as_str().unwrap_or("?").to_owned();
    let rows = report["rows"].as_array().expect("a list").iter();
    let mut rows: Vec<_> = rows
        .map(|row| {
            let last = row["stack"].as_array().map_or(0, |stack| stack.len().saturating_sub(1));
            (end(row, 0), end(row, last), row["leaked_bytes"].as_u64().expect("a size"))
        })
        .collect();
    rows.sort();
    rows
}

/// Check the options that choose stacks and change them, on a program that keeps 300 bytes by `leaky` and 50 by `cache`.
#[test]
fn stacks_are_chosen_and_changed() {
    let (_, capture) = record(c("keeps_some").build()).with_names().succeed();
    let all: u64 = leaked(&capture, &[]).iter().map(|(.., bytes)| bytes).sum();
    assert_eq!(all, 350);
    let focused = leaked(&capture, &["--focus", "leaky"]);
    assert_eq!(focused, [("leaky".to_owned(), "leaky".to_owned(), 300)]);
    let without = leaked(&capture, &["--transparent", "leaky", "--focus", "main"]);
    assert!(without.contains(&("main".to_owned(), "main".to_owned(), 300)), "{without:?}");
    let folded = leaked(&capture, &["--fold", "leaky"]);
    assert!(folded.contains(&("leaky".to_owned(), "…".to_owned(), 300)), "{folded:?}");
    assert_eq!(leaked(&capture, &["--module", "keeps_some"]).len(), 2);
    assert_eq!(capture.show(&["report", "--module", "libnone.so"]).code, 2);
    let callers = capture.report(&["--by", "leaked", "--callers", "leaky"]);
    let nodes = callers["nodes"].as_array().expect("a tree").iter();
    let names: Vec<&str> = nodes.filter_map(|node| node["name"].as_str()).collect();
    assert!(names.contains(&"leaky") && names.contains(&"main") && !names.contains(&"cache"), "{names:?}");
}

/// Check that debug files are found below --debug-dir, and programs below --sysroot, where they were not recorded.
#[test]
fn debug_files_are_found_elsewhere() {
    if installed("objcopy").is_none() {
        return skip("debug files", "objcopy is not installed");
    }
    let world = World::new();
    let copy = |name: &str, how: &[&str]| {
        let mut objcopy = world.command("objcopy");
        objcopy.args(how).arg(c("keeps_some").flags(["-g"]).build()).arg(world.path(name));
        assert_eq!(wait(&world, objcopy).code, 0, "{name}");
        world.path(name)
    };
    std::fs::create_dir(world.path("debug")).expect("the folder is ours");
    copy("debug/app.debug", &["--only-keep-debug"]);
    let link = format!("--add-gnu-debuglink={}", world.path("debug/app.debug").display());
    let app = copy("app", &["--strip-all", &link]);
    let (debug, root) = (world.path("debug"), world.path("root"));
    let (_, capture) = record(&app).world(world).succeed();
    let source = |options: &[&str]| {
        let report = capture.report(&[&["--by", "leaked", "--lines"], options].concat());
        report["rows"][0]["source"].as_str().unwrap_or_default().ends_with("keeps_some.c")
    };
    assert!(!source(&[]));
    assert!(source(&["--debug-dir", &debug.display().to_string()]));
    let elsewhere = root.join(app.strip_prefix("/").expect("it is absolute"));
    std::fs::create_dir_all(elsewhere.parent().expect("it has a folder")).expect("the folder is ours");
    std::fs::rename(&app, &elsewhere).expect("the folder is ours");
    std::fs::rename(&debug, elsewhere.with_file_name(".debug")).expect("the folder is ours");
    assert!(!source(&[]));
    assert!(source(&["--sysroot", &root.display().to_string()]));
}

/// Check the limits of all bytes and of invalid frees on both sides, and that a saved baseline is kept by its capture.
#[test]
fn limits_and_baselines_hold() {
    let (_, capture) = record(c("keeps_some").build()).succeed();
    let bytes = (1 << 20) + 350 + 20 * 64;
    for (limit, code) in [(bytes, 0), (bytes - 1, 1)] {
        assert_eq!(capture.show(&["check", "--max-bytes", &limit.to_string()]).code, code, "{limit}");
    }
    let (_, invalid) = record(c("frees_twice").build()).options(["--free-stacks"]).run();
    let number = invalid.number("/totals/unmatched_frees");
    assert!(number > 0);
    for (limit, code) in [(number, 0), (number - 1, 1)] {
        assert_eq!(invalid.show(&["check", "--max-invalid-frees", &limit.to_string()]).code, code, "{limit}");
    }
    let file = capture.file().with_extension("json");
    let file = file.to_str().expect("temporary folders have plain names");
    let saved = capture.show(&["check", "--save-baseline", file]);
    assert_eq!(saved.code, 0, "{}", saved.stderr);
    let kept = capture.show(&["check", "--baseline", file]);
    assert_eq!(kept.code, 0, "{}{}", kept.text(), kept.stderr);
}
