//! Page faults beside the allocations: how much of the memory is resident.

use crate::harness::{Capture, Service, World, c, product, record, skip, wait};
use serde_json::Value;

/// Whether `doctor` finds that page faults can be recorded in this way. If not, a recording says so, and that is
/// tested as well.
fn can(way: &str) -> bool {
    let world = World::new();
    let ran = wait(&world, world.tool(["doctor"]));
    let finding = ran.text().lines().find(|line| line.contains("page faults")).unwrap_or_default();
    let can = finding.contains(way);
    if !can {
        skip("page faults", "the kernel does not permit them");
    }
    can
}

fn can_record() -> bool {
    can("run --faults records them")
}

fn resident(capture: &Capture, options: &[&str]) -> Value {
    let ran = capture.show(&[&["pages", "--by", "allocation", "--json"], options].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    serde_json::from_str(ran.text()).expect("it is JSON")
}

fn bytes(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is a number of bytes"))
}

/// The rows of a list whose stack contains this function.
fn rows_of<'v>(rows: &'v Value, function: &'v str) -> impl Iterator<Item = &'v Value> {
    let has = move |row: &&Value| {
        row["stack"].as_array().into_iter().flatten().any(|frame| frame["function"] == function)
    };
    rows.as_array().expect("a list").iter().filter(has)
}

/// Check that a capture without page faults shows an error in place of numbers, which says what to do, and null in
/// JSON.
#[test]
fn what_was_not_recorded_is_not_shown() {
    let (_, capture) = record(c("keeps_some").build()).with_names().succeed();
    let ran = capture.show(&["pages", "--by", "allocation"]);
    assert_eq!((ran.code, ran.text()), (2, ""), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("page faults were not recorded") && ran.stderr.contains("run --faults"),
        "{}",
        ran.stderr
    );
    let document = resident(&capture, &[]);
    assert_eq!(document["recorded"], false);
    assert!(
        document["resident"].is_null() && document["held"].as_array().is_some_and(Vec::is_empty),
        "{document}"
    );
}

/// Check that the heap's resident bytes are those that the kernel counts, within 5 %: of the break, of mapped blocks
/// and of a thread's arena, of which half was touched and a part freed.
#[test]
fn resident_heap_is_that_of_the_kernel() {
    if !can_record() {
        return;
    }
    let (ran, capture) = record(c("touches_half").build()).options(["--faults"]).with_names().succeed();
    let printed: Vec<i64> =
        ran.text().split_whitespace().map(|number| number.parse().expect("a number")).collect();
    let kernel = printed.iter().sum::<i64>() << 10;
    let document = resident(&capture, &[]);
    let lost = bytes(&document["lost_faults"]) * 4096;
    let heap = bytes(&document["resident"]["heap_bytes"]);
    assert!((heap - kernel).abs() <= kernel / 20 + lost, "{heap} of {kernel}: {document:#}");
    // Half of what is live was touched, whoever allocated it.
    for function in ["fill", "main"] {
        let large = |row: &&Value| bytes(&row["held_bytes"]) > 1 << 20;
        let rows: Vec<_> = rows_of(&document["held"], function).filter(large).collect();
        assert!(!rows.is_empty(), "{function}: {document:#}");
        for row in rows {
            let (held, resident) = (bytes(&row["held_bytes"]), bytes(&row["resident_bytes"]));
            assert!((resident - held / 2).abs() <= held / 20 + lost, "{row:#}");
            assert_eq!(held - resident, bytes(&row["untouched_bytes"]));
        }
    }
    // A quarter of the small blocks was freed, which libc keeps; the large one is gone.
    let sums = &document["resident"];
    let kept = bytes(&sums["free_bytes"]) + bytes(&sums["slack_bytes"]);
    assert!((3 << 20..6 << 20).contains(&(kept + lost / 2)), "{sums:#}");
    let parts = ["heap_bytes", "stacks_bytes", "files_bytes", "anonymous_bytes", "unknown_bytes"];
    assert_eq!(parts.map(|part| bytes(&sums[part])).iter().sum::<i64>(), bytes(&sums["total_bytes"]));
}

/// Check that pages are charged to the code that touched them, not to the code that allocated, and that views of a
/// range contain only what was touched in it.
#[test]
fn pages_are_of_who_touched_them() {
    if !can_record() {
        return;
    }
    let (_, capture) = record(c("touches_half").build())
        .options(["--faults", "--no-cpu"])
        .args(["64"])
        .with_names()
        .succeed();
    let missing = capture.number("/faults/without_stack") + capture.number("/faults/lost");
    let document = resident(&capture, &[]);
    let touched: i64 = rows_of(&document["touched"], "touch").map(|row| bytes(&row["resident_bytes"])).sum();
    // Half of the large block that stays. In small blocks the allocator itself has touched pages, for its headers.
    let expected = 64 * (16 << 10) / 2;
    assert!(touched + missing as i64 * 4096 >= expected, "{touched}, {missing} missing: {document:#}");
    assert!(rows_of(&document["held"], "touch").next().is_none(), "it allocates nothing");
    let range = resident(&capture, &["--from", "end"]);
    assert_eq!(bytes(&range["resident"]["total_bytes"]), 0, "{range:#}");
    let only = resident(&capture, &["--filter", "worker"]);
    let sums = |document: &Value, field: &str| bytes(&document["resident"][field]);
    let blocks = sums(&only, "blocks_bytes") + sums(&only, "other_blocks_bytes");
    assert_eq!(blocks, sums(&document, "blocks_bytes"));
    assert!(sums(&only, "blocks_bytes") > 0 && sums(&only, "other_blocks_bytes") > 0, "{only:#}");
}

/// Check that if page faults are refused, the rest is recorded, with one line that says what to do; and that views
/// say that there are none.
#[test]
fn refused_page_faults_do_no_harm() {
    let world = World::new();
    let file = world.path("it.memprof");
    let mut command = world.command(c("refuses_perf").build());
    command.arg(product()).args(["run", "--faults", "--no-cpu", "--no-symbolize", "--output"]).arg(&file);
    command.arg("--").arg(c("allocates_once").build());
    let ran = wait(&world, command);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let told = ran.stderr.lines().filter(|line| line.contains("page faults not recorded"));
    assert_eq!(told.filter(|line| line.contains("sandbox")).count(), 1, "{}", ran.stderr);
    assert!(!ran.stderr.contains("CPU not sampled"), "nobody asked for that: {}", ran.stderr);
    let mut view = world.tool(["pages", "--by", "allocation"]);
    view.arg(&file);
    let ran = wait(&world, view);
    assert_eq!((ran.code, ran.text()), (2, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("page faults not recorded"), "{}", ran.stderr);
}

/// Check that for a process that was already running, the pages count that it touches from the attach on, for the
/// blocks on them, and that no other process' pages do.
#[test]
fn pages_of_attached_processes_are_theirs() {
    if !can("attach --faults is possible") {
        return;
    }
    let server = Service::that_grows();
    let file = server.world.path("it.memprof");
    let collector = server.attach_with(&["--faults", "--output", "it.memprof"]);
    server.work();
    assert_eq!(server.run("detach", &[]).code, 0);
    assert_eq!(collector.wait().code, 0);
    let pid = server.pid();
    let capture = Capture::new(server.stop(), file);
    let document = resident(&capture, &[]);
    let has_pages = |process: &&Value| bytes(&process["total_bytes"]) > 0;
    let processes: Vec<&Value> =
        document["processes"].as_array().expect("a list").iter().filter(has_pages).collect();
    assert_eq!(processes.len(), 1, "{document:#}");
    assert_eq!(processes[0]["pid"].to_string(), pid);
    assert!(bytes(&document["resident"]["blocks_bytes"]) > 4096, "{document:#}");
}
