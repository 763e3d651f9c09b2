//! Everything that can be seen of a program, in one capture and on one clock.

use crate::harness::{Capture, Event, Page, World, c, record, skip, wait, wait_for};
use serde_json::Value;

/// Bytes that the program maps, touches and unmaps.
const PAGES: u64 = 64 << 20;

/// The times of lines of `export --format events-json --samples` that have a function on their stack.
fn samples_in(capture: &Capture, function: &str) -> Vec<u64> {
    let ran = capture.show(&["export", "--format", "events-json", "--samples", "--frames", "1000"]);
    let lines = ran.text().lines().skip(1).map(|line| serde_json::from_str(line).expect("it is JSON"));
    let is_in = |line: &Value| line["stack"].as_array().expect("a stack").iter().any(|name| name == function);
    lines.filter(is_in).map(|line| line["time_ns"].as_u64().expect("a time")).collect()
}

/// Check that one recording of one program has its allocations, marks, mappings, processes, counters and samples in
/// one file, and in the right order: a mark set between two blocks is between them; pages mapped after it are after
/// it, and so are the counter reading that finds them resident, the samples of what was computed then, and the child;
/// what was computed before the first block is before it.
#[test]
fn all_sources_are_on_one_clock() {
    let fixture = c("is_busy_in_every_way").with_api().flags(["-O1", "-fomit-frame-pointer"]);
    let world = World::new();
    let page = Page::new(&world);
    let recording = record(fixture.build()).arg(&page.path).world(world).with_names();
    let running = recording.start();
    wait_for("a reading with the program's pages", || {
        let mut info = recording.world.tool(["info", "--json"]);
        info.arg(recording.file());
        // There is no document before the capture has a beginning.
        let document =
            serde_json::from_slice::<Value>(&wait(&recording.world, info).stdout).unwrap_or_default();
        let counters = document["counters"].as_array().map(Vec::as_slice).unwrap_or_default();
        let of_program = |series: &&Value| series["counter"] == "rss_bytes" && series["pid"] == page.pid();
        counters.iter().filter(of_program).any(|series| series["peak"].as_u64() >= Some(PAGES))
    });
    page.go();
    let ran = running.wait();
    assert_eq!(ran.code, 7, "{}", ran.stderr);
    let capture = recording.capture();
    let (info, events) = (capture.info(), capture.events());
    let place = |what: &str, is_it: &dyn Fn(&Event) -> bool| {
        events.iter().position(is_it).unwrap_or_else(|| panic!("no {what} in {events:#?}"))
    };
    let block = |size| place("block", &|event| event.kind == "alloc" && event.size == size);
    let expected = [
        place("start", &|event| event.kind == "process_start"),
        block(2001),
        place("mark", &|event| event.kind == "mark" && event.name == "middle"),
        block(2002),
        place("mapping", &|event| event.kind == "mmap" && event.size == PAGES),
        place("unmapping", &|event| event.kind == "munmap" && event.size == PAGES),
        place("fork", &|event| event.kind == "fork"),
        block(3001),
        place("end of the child", &|event| event.kind == "process_end"),
    ];
    assert!(expected.is_sorted(), "{expected:?}");
    let times = expected.map(|place| events[place].time);
    assert!(times.is_sorted(), "{times:?}");
    let [_, first, mark, _, mapped, unmapped, ..] = times;
    let processes = info["processes"].as_array().expect("a list");
    assert_eq!(processes.len(), 2);
    assert_eq!((&processes[0]["pid"], &processes[1]["exit"]), (&processes[1]["ppid"], &Value::from(7)));

    let counters = info["counters"].as_array().expect("a list");
    let of_program =
        |series: &&Value| series["counter"] == "rss_bytes" && series["pid"] == processes[0]["pid"];
    let resident = counters.iter().find(of_program).expect("the program's memory is read");
    assert!(resident["peak"].as_u64() >= Some(PAGES), "{resident}");
    let peak = resident["peak_time_ns"].as_u64().expect("a time");
    assert!((mapped..=unmapped).contains(&peak), "{peak} not in {mapped} to {unmapped}");

    if info["cpu"]["samples"].as_u64().unwrap_or(0) == 0 {
        return skip("the samples of a capture with everything", "the kernel does not permit them");
    }
    let error = info["cpu"]["clock_error_ns"].as_u64().expect("the error is stated");
    assert!(error < 1_000_000, "{error} ns");
    let (before, after) = (samples_in(&capture, "before"), samples_in(&capture, "after"));
    assert!(!before.is_empty() && !after.is_empty(), "{} and {} samples", before.len(), after.len());
    assert!(before.iter().all(|time| *time <= first + error), "not before {first}: {before:?}");
    assert!(after.iter().all(|time| *time + error >= mark), "not after {mark}: {after:?}");
}
