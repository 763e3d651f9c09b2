//! What programs report about themselves: marks, pools, and when they want to be recorded.

use crate::harness::{Capture, World, c, cpp, library, record, rust, wait};
use serde_json::{Value, json};
use std::process::Command;

/// Names and kinds of all marks.
fn marks(capture: &Capture) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let info = capture.info();
    let marks = info["marks"].as_array().expect("a capture has marks");
    marks.iter().map(|mark| (text(&mark["name"]), text(&mark["kind"]))).collect()
}

/// The totals of a pool: allocations, bytes, frees, peak bytes, leaked blocks.
fn heap(capture: &Capture, name: &str) -> [u64; 5] {
    let info = capture.info();
    let heaps = info["heaps"].as_array().expect("a capture has heaps");
    let heap =
        heaps.iter().find(|heap| heap["name"] == name).unwrap_or_else(|| panic!("{name} in {heaps:?}"));
    ["allocations", "allocated_bytes", "frees", "peak_bytes", "leaked_blocks"]
        .map(|field| heap[field].as_u64().unwrap_or_else(|| panic!("{field} of {heap}")))
}

/// Sizes of all blocks from 100 bytes on, in order.
fn sizes(capture: &Capture) -> Vec<u64> {
    let events = capture.events();
    events.iter().filter(|event| event.kind == "alloc" && event.size > 100).map(|event| event.size).collect()
}

/// Check that for a program that begins paused exactly the allocations between start and stop are recorded, that
/// nothing that it freed while stopped is leaked, and that no block from other times causes an anomaly.
#[test]
fn paused_programs_record_their_regions() {
    let program = c("records_a_region").with_api().build();
    let by_option = record(&program).options(["--paused"]).succeed().1;
    let by_variable = record(&program).env("SYSPROF_MEMPROF_PAUSED", "1").succeed().1;
    for capture in [by_option, by_variable] {
        assert_eq!(sizes(&capture), [1001, 1002, 1003, 1004]);
        let info = capture.info();
        let totals = &info["totals"];
        // 1002 and the block across the second pause, whatever became of it; 1004 lived through the last one.
        assert_eq!((&totals["leaked_blocks"], &totals["uncertain_blocks"]), (&json!(0), &json!(2)));
        assert_eq!(totals["paused_allocations"], 1, "{totals}");
        assert_eq!((&info["pauses"], &info["options"]["paused"]), (&json!(3), &json!("true")));
    }
}

/// Check that the same program is recorded from its beginning if it is not to begin paused, and that sampling is
/// started and stopped in the same way.
#[test]
fn regions_are_those_of_samples_too() {
    let program = c("records_a_region").with_api().build();
    let (_, capture) = record(&program).succeed();
    assert_eq!(sizes(&capture), [101, 102, 1001, 1002, 1003, 1004]);
    let sampled = ["--paused", "--sample", "1"];
    let (_, capture) = record(&program).options(sampled).env("SYSPROF_MEMPROF_SEED", "1").succeed();
    assert_eq!(sizes(&capture), [1001, 1002, 1003, 1004]);
}

/// Check that a program that never starts its recording is in the capture with its end and nothing else.
#[test]
fn programs_that_never_start_are_known() {
    let (_, capture) = record(c("allocates_once").build()).options(["--paused"]).succeed();
    let info = capture.info();
    assert_eq!((&info["totals"]["allocations"], &info["processes"][0]["exit"]), (&json!(0), &json!(0)));
    assert_eq!(info["pauses"], 1);
}

/// Check that of a program that never starts its recording nothing is recorded, however early it allocates: by the
/// initialization of the C++ runtime, and by that of a library that begins before all others.
#[test]
fn programs_that_begin_paused_are_so_from_the_first_call() {
    let first = library("allocates_first").build();
    for (program, first) in [(cpp("every_new").build(), None), (c("allocates_once").build(), Some(first))] {
        let recording = record(&program).options(["--paused"]);
        let recording = if let Some(first) = first { recording.env("LD_PRELOAD", first) } else { recording };
        let (_, capture) = recording.succeed();
        let of_blocks = |kind: &str| matches!(kind, "alloc" | "free" | "realloc_begin" | "realloc_end");
        let events: Vec<_> = capture.events().into_iter().filter(|event| of_blocks(&event.kind)).collect();
        assert!(events.is_empty(), "{}: {events:?}", program.display());
    }
}

/// Check that marks are among the allocations where they were set, with the given names: cut at 255 bytes, with
/// invalid text replaced.
#[test]
fn marks_stand_in_order() {
    let (_, capture) = record(c("marks_in_order").with_api().build()).succeed();
    let long = "x".repeat(255);
    let events = capture.events();
    let first = events.iter().position(|event| event.size == 1).expect("the first block is there");
    let told: Vec<String> = events[first..]
        .iter()
        .filter(|event| event.kind == "alloc" || event.kind.starts_with("mark"))
        .map(|event| {
            if event.kind == "alloc" {
                event.size.to_string()
            } else {
                format!("{} {}", event.kind, event.name)
            }
        })
        .collect();
    let expected = [
        "1",
        "mark_begin region",
        "2",
        "mark ",
        "3",
        "mark x",
        "mark xxxxxxxx",
        "4",
        &format!("mark {long}"),
        &format!("mark {long}"),
        "5",
        "mark \u{fffd}\u{fffd}\u{1b}[31m",
        "mark ",
        "mark_end region",
        "6",
    ];
    assert_eq!(told, expected);
    let names: Vec<_> = marks(&capture).into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        ["region", "", "x", "xxxxxxxx", &long, &long, "\u{fffd}\u{fffd}\u{1b}[31m", "", "region"]
    );
    let shown = capture.show(&["info"]);
    assert!(shown.text().contains("begin    region") && !shown.text().contains('\u{1b}'), "{}", shown.text());
}

/// Check that two pools have totals and stacks of their own, separate from each other and from the memory that they
/// are in.
#[test]
fn pools_are_heaps_of_their_own() {
    let (ran, capture) = record(c("two_pools").with_api().build()).with_names().succeed();
    assert_eq!(ran.text(), "1 1\n");
    // Ten of 100 bytes; of 300, 50 and 7 by growing. While the first of these is copied, both exist.
    assert_eq!(heap(&capture, "arena"), [13, 1357, 3, 1300, 10]);
    assert_eq!(heap(&capture, "cache"), [1, 4096, 1, 4096, 0]);
    let totals = &capture.info()["totals"];
    assert_eq!((&totals["leaked_blocks"], &totals["conflicts"]), (&json!(0), &json!(0)));
    let row = capture.row_of_size(4096);
    assert_eq!((row.number("allocations"), row.number("frees")), (1, 1));
    let report = capture.report(&["--heap", "arena", "--by", "leaked"]);
    assert_eq!((&report["heap"], &report["total"]["leaked_blocks"]), (&json!("arena"), &json!(10)));
    let first = &report["rows"][0];
    assert_eq!((&first["leaked_bytes"], &first["call"]), (&json!(700), &json!("memprof_report_alloc")));
    let functions = first["stack"].as_array().expect("a row has a stack");
    assert!(functions.iter().any(|frame| frame["function"] == "fill"), "{first}");
    let refused = capture.show(&["report", "--heap", "main"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("no heap `main`; it has arena, cache"), "{}", refused.stderr);
}

/// Check that nothing that threads report at once is lost or attributed to another name, even with small rings.
#[test]
fn threads_tell_at_once() {
    const TIMES: u64 = 2000;
    let program = c("tells_from_threads").with_api().build();
    let rings = ["--ring-size", "4K"];
    let (_, capture) = record(program).arg(TIMES.to_string()).options(rings).succeed();
    let found = marks(&capture);
    for name in ["0", "1", "2", "3"] {
        assert_eq!(found.iter().filter(|(mark, _)| mark == name).count() as u64, TIMES);
    }
    let [allocations, bytes, frees, _, leaked] = heap(&capture, "shared");
    assert_eq!([allocations, bytes, frees, leaked], [4 * TIMES, 64 * TIMES, 2 * TIMES, 2 * TIMES]);
}

/// Check that pools beyond the limit for a process are counted as lost, with advice, and that the others are
/// recorded.
#[test]
fn further_pools_are_counted_as_lost() {
    let program = c("many_pools").with_api().build();
    let (_, capture) = record(&program).arg("64").succeed();
    assert_eq!(capture.info()["heaps"].as_array().map(Vec::len), Some(64));
    let (ran, capture) = record(&program).arg("70").run();
    assert_eq!(ran.code, 0);
    let info = capture.info();
    assert_eq!(info["heaps"].as_array().map(Vec::len), Some(64));
    let lost = &info["lost"]["by_reason"][0];
    assert_eq!((&lost["reason"], &lost["events"]), (&json!("no_pool"), &json!(6)));
    assert!(lost["advice"].as_str().is_some_and(|advice| advice.contains("64")), "{lost}");
}

/// Check that the last call decides when threads start and stop at once, and that nothing seems to leak or to be in
/// the wrong order, whatever other threads do meanwhile.
#[test]
fn threads_start_and_stop_at_once() {
    let (_, capture) = record(c("switches_at_once").with_api().build()).succeed();
    let row = capture.row_of_size(12345);
    assert_eq!(row.number("leaked_blocks"), 1);
    let totals = &capture.info()["totals"];
    // That one, and what libc keeps.
    assert!(totals["leaked_blocks"].as_u64().is_some_and(|blocks| blocks < 10), "{totals}");
}

/// Check that a forked child is as paused as its parent, and starts independently.
#[test]
fn children_begin_as_their_parents_are() {
    let (_, capture) = record(c("forks_paused").with_api().build()).succeed();
    assert_eq!(sizes(&capture), [101, 1001]);
    let info = capture.info();
    let [parent, child] = &info["processes"].as_array().expect("processes")[..] else { panic!("{info}") };
    assert_eq!((&parent["uncertain_blocks"], &parent["pauses"]), (&json!(1), &json!(1)));
    assert_eq!((&child["allocations"], &child["inherited_frees"]), (&json!(1), &json!(1)));
    assert_eq!(marks(&capture).into_iter().map(|(name, _)| name).collect::<Vec<_>>(), ["child", "parent"]);
}

/// Check that signal handlers may report anything at any moment: what cannot be recorded then is counted, and the
/// last request is carried out.
#[test]
fn handlers_may_tell() {
    let program = c("tells_from_handlers").with_api().build();
    let (ran, capture) = record(program).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let info = capture.info();
    assert_eq!((&info["cut"], &info["overhead"]["agent_allocations"]), (&Value::Null, &json!(0)));
    assert_eq!(capture.row_of_size(12345).number("allocations"), 1);
    let found = marks(&capture);
    assert_eq!(found.last().map(|(name, _)| name.as_str()), Some("after"));
    let lost = info["lost"]["events"].as_u64().unwrap_or_default();
    assert!(found.len() as u64 + lost > 50, "{} marks, {lost} lost", found.len());
}

/// Check the same for C++: a guard ends its region when an exception passes, and containers can have pools.
#[test]
fn guards_of_cpp_end_their_regions() {
    let (_, capture) = record(cpp("region_guard").with_api().build()).succeed();
    let expected =
        [("outer", "begin"), ("inner", "begin"), ("inner", "end"), ("outer", "end"), ("caught", "instant")];
    assert_eq!(marks(&capture), expected.map(|(name, kind)| (name.to_string(), kind.to_string())));
    assert_eq!(heap(&capture, "vectors"), [2, 3000, 2, 3000, 0]);
}

/// Check the same for Rust.
#[test]
fn rust_programs_tell_of_themselves() {
    let program = rust("tells").with_api().build();
    let (ran, capture) = record(&program).options(["--paused"]).succeed();
    assert_eq!(ran.text(), "true\n");
    assert_eq!(heap(&capture, "büffer"), [3, 210, 2, 210, 0]);
    let kinds: Vec<_> = marks(&capture).into_iter().map(|(name, kind)| format!("{name} {kind}")).collect();
    assert_eq!(kinds, ["filling begin", "filling end", "filled instant"]);
    let found = sizes(&capture);
    assert!(found.contains(&4096) && !found.contains(&1001) && !found.contains(&1002), "{found:?}");
    let alone = wait(&World::new(), Command::new(&program));
    assert_eq!((alone.code, alone.text()), (0, "false\n"));
}

/// Check that the header compiles as C of every standard and as C++ without a warning, for any kind of executable,
/// and that a program which includes it runs as usual without the agent, and reports with it.
#[test]
fn header_compiles_everywhere() {
    let strict = ["-Wall", "-Wextra", "-pedantic", "-Werror"];
    let includes = || c("includes_the_header").with_api().flags(strict);
    for standard in ["c89", "gnu89", "c99", "c11", "c17", "c2x"] {
        for kind in [&["-O0"][..], &["-O2"], &["-O1", "-no-pie", "-fno-pie"], &["-O1", "-static"]] {
            let program = includes().flags([format!("-std={standard}")]).flags(kind.iter().copied()).build();
            assert_eq!(wait(&World::new(), Command::new(&program)).code, 0, "{standard} {kind:?}");
            if standard == "c89" && kind != ["-O1", "-static"] {
                let (_, capture) = record(&program).succeed();
                assert_eq!(marks(&capture).len(), 4, "{kind:?}");
                assert_eq!(heap(&capture, "pool"), [2, 7, 2, 7, 0]);
            }
        }
    }
    for standard in ["c++98", "c++11", "c++20"] {
        let program =
            includes().for_cpp().flags(["-Wold-style-cast".to_string(), format!("-std={standard}")]);
        assert_eq!(wait(&World::new(), Command::new(program.build())).code, 0, "{standard}");
    }
    let off = includes().flags(["-DSYSPROF_MEMPROF_DISABLE"]).build();
    let (_, capture) = record(&off).succeed();
    assert_eq!(marks(&capture).len(), 0);
}

/// Check that the command prints the header that programs are to include.
#[test]
fn command_prints_the_header() {
    let world = World::new();
    let ran = wait(&world, world.tool(["generate", "header"]));
    assert_eq!(ran.code, 0);
    assert_eq!(ran.text(), include_str!("../preload/include/sysprof_memprof.h"));
}
