//! Programs for musl, the C library of Alpine Linux: one agent serves both.

use crate::calls;
use crate::harness::{World, c, can_sample, for_musl, record, wait};
use serde_json::Value;

/// Check that all calls are recorded as they were made, those that musl's functions make to each other once, also as
/// samples.
#[test]
fn every_call_is_recorded() {
    let Some(fixture) = for_musl("every_call") else { return };
    for level in ["-O0", "-O2"] {
        let program = fixture.clone().flags([level]).build();
        calls::check(&program);
        calls::check_sampled(&program);
    }
}

/// Check that stacks pass through functions of musl, which has no unwind tables, to where the process or the thread
/// begins; and that the exit code is known to its starter.
#[test]
fn stacks_through_the_library_are_complete() {
    let Some(fixture) = for_musl("calls_through_libc") else { return };
    let (ran, capture) = record(fixture.flags(["-O1"]).build()).with_names().run();
    assert_eq!((ran.code, ran.stderr.as_str()), (7, ""));
    capture.assert_sound();
    for (size, times, functions) in [
        (3108, 20, &["strdup", "copy", "main"][..]),
        (4101, 0, &["lend", "compare", "sort", "main"]),
        (4102, 0, &["lend", "find", "search", "main"]),
        (4103, 1, &["lend", "once", "main"]),
        (4104, 1, &["lend", "handle", "main"]),
        (4105, 1, &["lend", "work"]),
        (3106, 1, &["strdup", "copy", "work"]),
        (4107, 1, &["lend", "begin"]),
        (4109, 1, &["main"]),
        (4110, 1, &["main"]),
    ] {
        let rows = capture.rows_of_size(size);
        let sum = |field| rows.iter().map(|row| row.number(field)).sum::<u64>();
        assert!(sum("allocations") == sum("frees") && sum("allocations") > 0, "{size}: {rows:#?}");
        assert!(times == 0 || sum("allocations") == times, "{size}: {rows:#?}");
        for row in rows {
            assert_eq!(row.state, "complete", "{size}: {:?}", row.names());
            let names = row.names();
            let mut left = names.iter();
            let is_there = |function: &&str| left.any(|name| name == function);
            assert!(functions.iter().all(is_there), "{functions:?} are not in {names:?}");
        }
    }
    let processes = capture.info()["processes"].clone();
    assert_eq!(
        (&processes[0]["ended"], &processes[0]["exit"]),
        (&"exited".into(), &7.into()),
        "{processes:#}"
    );
}

/// Check that CPU samples pass through musl, too.
#[test]
fn samples_reach_the_beginning() {
    let Some(fixture) = for_musl("known_work") else { return };
    if !can_sample() {
        return;
    }
    let program = fixture.flags(["-O1", "-fomit-frame-pointer"]).build();
    let (_, capture) = record(program).options(["--frequency", "999"]).args(["100"]).with_names().run();
    let report = capture.report(&["--cpu"]);
    let rows = report["rows"].as_array().expect("a report has rows").clone();
    let samples = |rows: &[Value]| rows.iter().filter_map(|row| row["samples"].as_i64()).sum::<i64>();
    let all = samples(&rows);
    let has_main = |row: &Value| {
        let stack = row["stack"].as_array().expect("a row has a stack");
        stack.iter().any(|frame| frame["function"] == "main")
    };
    let reach_main: Vec<Value> = rows.into_iter().filter(has_main).collect();
    assert!(all > 100 && samples(&reach_main) * 100 >= all * 95, "{} of {all}", samples(&reach_main));
}

/// Check that programs of both C libraries that start one another are recorded, each with the agent that the first
/// one was given.
#[test]
fn both_libraries_are_recorded_together() {
    let Some(program) = for_musl("has_another_libc") else { return };
    let (ran, capture) = record("bash").args(["-c", "\"$0\"; echo $?"]).arg(program.build()).run();
    assert_eq!((ran.text(), ran.stderr.as_str()), ("another C library\n0\n", ""));
    assert_eq!(capture.info()["lost"]["events"], 0);
    assert_eq!(capture.row_of_size(3301).number("frees"), 1);

    let Some(starter) = for_musl("starts_programs") else { return };
    let (ran, capture) = record(starter.build()).arg(c("allocates_once").build()).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(!capture.rows_of_size(1001).is_empty());
}

/// Check that threads are recorded to their last destructor on the small stacks that they have with musl, and so are
/// children of fork and vfork.
#[test]
fn threads_and_children_are_recorded() {
    let Some(fixture) = for_musl("many_threads") else { return };
    let (_, capture) = record(fixture.build()).succeed();
    for size in [300, 301, 302, 303] {
        let row = capture.row_of_size(size);
        assert_eq!(
            (row.number("allocations"), row.number("frees")),
            (10_000, 10_000),
            "blocks of {size} bytes"
        );
    }
    let Some(fixture) = for_musl("vforks_and_allocates") else { return };
    let (_, capture) = record(fixture.build()).succeed();
    let totals = capture.info()["totals"].clone();
    for field in ["unmatched_frees", "leaked_blocks", "uncertain_blocks", "conflicts", "lost_allocations"] {
        assert_eq!(totals[field], 0, "{field}: {totals:#}");
    }
}

/// Check that nothing that a variable holds is called unreachable, wherever musl has allocated it: it uses what
/// modules leave of their pages, including ours.
#[test]
fn what_is_held_is_reachable() {
    let Some(fixture) = for_musl("forgets_in_threads") else { return };
    let (_, capture) = record(fixture.flags(["-O1"]).build()).options(["--scan-at-exit"]).succeed();
    let ran = capture.show(&["retained", "--json"]);
    let retained: Value = serde_json::from_str(ran.text()).expect("it is JSON");
    let roots = retained["roots"].as_array().expect("a list");
    let list =
        roots.iter().find(|root| root["name"] == "list [forgets_in_threads]").expect("it holds blocks");
    assert_eq!(list["retained"]["bytes"], 30 * 112, "{roots:#?}");
    assert!(retained["unreachable"]["blocks"].as_u64() <= Some(3), "{:#}", retained["unreachable"]);
}

/// Check that an allocator inside a program is recorded with musl, too.
#[test]
fn own_malloc_is_recorded() {
    let Some(fixture) = for_musl("own_malloc") else { return };
    let (_, capture) = record(fixture.build()).succeed();
    assert!(!capture.rows().is_empty());
    let remarks = capture.info()["remarks"].to_string();
    assert!(!remarks.contains("an allocator inside"), "{remarks}");
}

/// Check that a program whose stacks would end in its first function is reported beforehand, with how to link it.
#[test]
fn missing_tables_are_told() {
    let Some(fixture) = for_musl("allocates_once") else { return };
    let told = |flag: &str| {
        let world = World::new();
        let mut command = world.tool(["run", "--no-symbolize", "--output", "it.memprof", "--"]);
        command.arg(fixture.clone().flags([flag]).build());
        let ran = wait(&world, command);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stderr
    };
    let without = told("-Wl,--no-eh-frame-hdr");
    assert!(without.contains("link it with -Wl,--eh-frame-hdr"), "{without}");
    assert!(!told("-O1").contains("--eh-frame-hdr"));
}
