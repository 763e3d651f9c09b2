//! That all views say the same, and what is true.

use crate::harness::{Capture, World, c, installed, record, skip};
use capture::{ChunkKind, Reader};
use serde_json::Value;
use std::ffi::OsStr;

/// A recording of a program whose calls stay as they are written.
fn recorded(name: &str, arguments: &[&str]) -> Capture {
    let mut recording = record(c(name).flags(["-O1", "-fno-builtin"]).build()).with_names();
    for argument in arguments {
        recording = recording.arg(OsStr::new(argument));
    }
    let (_, capture) = recording.succeed();
    capture.assert_sound();
    capture
}

/// The sum of a number over the rows of a document.
fn sum(document: &Value, field: &str) -> i64 {
    document["rows"].as_array().expect("rows").iter().filter_map(|row| row[field].as_i64()).sum()
}

/// Check that the peak of a program that holds most while `realloc` copies a block is the same, with both blocks, in every view.
#[test]
fn a_peak_within_a_realloc_is_one_in_all_views() {
    let capture = recorded("moves_a_block", &[]);
    let most = 100_000 + 120_000 + 100;
    let info = capture.info();
    assert_eq!(
        (info["totals"]["peak_bytes"].as_i64(), info["totals"]["peak_blocks"].as_i64()),
        (Some(most), Some(3))
    );
    let reports: [(&[&str], [&str; 2]); 2] = [
        (&["--by", "peak"], ["peak_bytes", "peak_blocks"]),
        (&["--at", "peak"], ["live_bytes", "live_blocks"]),
    ];
    for (options, fields) in reports {
        let report = capture.report(options);
        assert_eq!(fields.map(|field| sum(&report, field)), [most, 3], "{report:#}");
    }
    let diff = capture.json(&["diff", "--from", "start", "--to", "peak"]);
    assert_eq!(diff["total"]["delta_bytes"].as_i64(), Some(most), "{diff:#}");
    let back = capture.json(&["diff", "--from", "peak", "--to", "end"]);
    assert_eq!(back["total"]["delta_bytes"].as_i64(), Some(-most), "{back:#}");
    let steps = capture.json(&["timeline"]);
    let highest =
        steps["steps"].as_array().expect("steps").iter().filter_map(|step| step["peak_bytes"].as_i64()).max();
    assert_eq!(highest, Some(most));
    let pages = capture.json(&["pages", "--at", "peak"]);
    assert_eq!(pages["total"]["live_bytes"].as_i64(), Some(most), "{pages:#}");
}

/// Check that the first move of the program break counts, forwards and back, and that its memory is outside of the heap.
#[test]
fn the_first_move_of_the_break_counts() {
    for (arguments, calls, growth) in [(&[][..], 1, 100 << 20), (&["back"][..], 2, 10 << 20)] {
        let mappings = recorded("moves_its_break_once", arguments).info()["mappings"].clone();
        assert_eq!(mappings["brk_calls"].as_i64(), Some(calls), "{mappings:#}");
        assert_eq!(mappings["brk_growth_bytes"].as_i64(), Some(growth), "{mappings:#}");
        assert_eq!(mappings["own_peak_bytes"].as_i64(), Some(100 << 20), "{mappings:#}");
    }
}

/// Check that a stack retains what only its blocks together hold, whether these hold each other or not.
#[test]
fn a_stack_retains_what_its_blocks_hold_together() {
    let program = c("shares_between_holders").flags(["-O0", "-fno-builtin"]).build();
    let (_, capture) = record(program).options(["--scan-at-exit"]).with_names().succeed();
    let document = capture.json(&["retained"]);
    let retained = |function: &str| {
        let rows = document["stacks"].as_array().expect("stacks").iter();
        let mut of = rows.filter(|row| row["stack"][0]["function"] == function);
        of.next().and_then(|row| row["retained"]["bytes"].as_i64())
    };
    assert_eq!(retained("make_holder"), Some(2 * 64 + 1_000_000), "{document:#}");
    assert_eq!(retained("make_list"), Some(2 * 64 + 500_000), "{document:#}");
    assert_eq!(retained("make_shared"), Some(1_000_000), "{document:#}");
}

/// Check that the slack which sizes have in glibc is what the program could use beyond what it asked for, to the byte.
#[test]
fn slack_is_what_the_program_can_use() {
    let (ran, capture) = record(c("tells_its_slack").flags(["-O1", "-fno-builtin"]).build()).run();
    let said: i64 = ran.stderr.trim().parse().expect("a number");
    let sizes = capture.json(&["blocks", "--by", "size"]);
    let rows = sizes["classes"].as_array().expect("classes").iter();
    // What libc allocates to print is not the program's.
    let others: i64 = capture.events().iter().skip(3000).filter(|event| event.kind == "alloc").count() as i64;
    let slack: i64 = rows.filter_map(|row| row["glibc_slack_bytes"].as_i64()).sum();
    assert!((said..=said + 16 * others).contains(&slack), "{slack} instead of {said}, {others} others");
}

/// Check that memory which is resident between two readings is in the maximum, of a program that goes on and of one that ends.
#[test]
fn a_short_peak_of_resident_memory_is_known() {
    for (arguments, counter) in [(&["waits"][..], "peak_rss_bytes"), (&[][..], "family_peak_rss_bytes")] {
        let capture = recorded("is_large_for_a_moment", arguments);
        let info = capture.info();
        let series = info["counters"].as_array().expect("counters").iter();
        let most =
            series.filter(|one| one["counter"] == counter).filter_map(|one| one["peak"].as_i64()).max();
        assert!(most.is_some_and(|most| (192 << 20..208 << 20).contains(&most)), "{counter}: {most:?}");
        let shown = capture.show(&["info"]);
        let line = shown.text().lines().find(|line| line.contains("peak RSS of")).expect("a line").to_owned();
        let size: f64 = line.split_whitespace().nth(4).and_then(|text| text.parse().ok()).expect("a size");
        assert!((192.0..208.0).contains(&size) && line.contains("MiB"), "{line}");
    }
}

/// Check that of products which overflow both numbers are recorded, from each function that multiplies, that the program sees what
/// it sees alone, and that the block which was to grow stays.
#[test]
fn overflowing_products_are_told_as_they_were_asked_for() {
    let capture = recorded("asks_for_overflowing_products", &[]);
    let failed = capture.json(&["errors"]);
    let rows = failed["failed"].as_array().expect("rows").iter();
    let mut products: Vec<(String, u64, u64)> = rows
        .map(|row| {
            let number = |field: &str| row["overflow"][field].as_u64().expect("a number");
            (row["call"].as_str().expect("a call").to_owned(), number("count"), number("size"))
        })
        .collect();
    products.sort();
    let expected =
        [("calloc", 1 << 40, 3 << 30), ("reallocarray", 3 << 30, 1 << 40), ("reallocarray", u64::MAX, 2)];
    assert_eq!(products, expected.map(|(call, count, size)| (call.to_owned(), count, size)));
    assert_eq!(capture.number("/totals/failed_calls"), 3);
    let shown = capture.show(&["errors"]);
    assert!(
        shown.text().contains("calloc of 1,099,511,627,776 × 3,221,225,472 B failed"),
        "{}",
        shown.text()
    );
}

/// Check that what recordings of real programs have stored of their events is what counting these gives: a file that ends
/// before the stored numbers has the same reports.
#[test]
fn stored_numbers_of_real_programs_are_those_of_their_events() {
    let programs: [(&str, &[&str]); 8] = [
        ("perl", &["-e", "my %seen; $seen{$_ % 97}[$_] = \"x$_\" for 1..3000; print scalar keys %seen"]),
        ("perl", &["-e", "my @all = map { [$_, \"$_\"] } 1..12000; print scalar @all"]),
        ("sqlite3", &[":memory:", "create table t(a); insert into t values (1), (2); select sum(a) from t"]),
        ("bash", &["-c", "for i in {1..3000}; do x=a$i; done; (echo child $x); ls / | sort | wc -l"]),
        ("awk", &["BEGIN { for (i = 0; i < 12000; i++) a[i % 500] = a[i % 7] i; print length(a[7]) }"]),
        ("python3", &["-c", "import json; print(len(json.dumps(list(range(9000)))))"]),
        ("git", &["help", "-a"]),
        ("find", &["/usr/share/doc", "-maxdepth", "1"]),
    ];
    let mut with_results = 0;
    for (name, arguments) in programs {
        if installed(name).is_none() {
            skip(name, "not installed");
            continue;
        }
        let (_, whole) = record(name).args(arguments).env("PYTHONMALLOC", "malloc").succeed();
        let reader = Reader::open(whole.file()).expect("it is a capture");
        let results = reader.index().iter().find(|chunk| chunk.kind() == Some(ChunkKind::Results));
        let Some(results) = results else {
            // Short ones are counted as fast as results are read.
            assert!(reader.event_count() < 40_000, "{name} has no results");
            continue;
        };
        with_results += 1;
        let bytes = std::fs::read(whole.file()).expect("the capture is there");
        let world = World::new();
        let file = world.write("counted.memprof", &bytes[..results.offset as usize]);
        let counted = Capture::new(world, file);
        for by in ["peak", "leaked", "bytes", "allocations", "temporary"] {
            // All stacks of a script that imports much are a gigabyte.
            let arguments = ["--by", by, "--limit", "2000"];
            let [stored, counted] = [&whole, &counted].map(|capture| capture.report(&arguments));
            assert_eq!(stored["rows"], counted["rows"], "{name} by {by}");
            assert_eq!(stored["total"], counted["total"], "{name} by {by}");
        }
    }
    assert!(with_results >= 2, "{with_results} programs have results");
}
