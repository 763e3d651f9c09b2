//! Every call of an allocator is recorded, with its kind, address, size and place in the order.

use crate::harness::{Capture, Event, Ran, Recording, c, cpp, cpp_library, library, record, skip};
use std::path::Path;

/// The line by which the program announces an event.
fn line(event: &Event) -> String {
    let Event { call, address, size, alignment, .. } = event;
    match event.kind.as_str() {
        "alloc" => format!("alloc {call} {address:#x} {size} {alignment}"),
        "free" | "realloc_begin" => format!("{} {address:#x}", event.kind),
        "realloc_end" => format!("realloc_end {call} {address:#x} {size}"),
        kind => kind.to_string(),
    }
}

/// Compares what the program prints with what was recorded, from its first block on, line by line.
pub(crate) fn check(program: &Path) {
    check_lines(record(program), |lines| lines);
}

/// The same with samples, one in each byte: all blocks from 20 bytes on are recorded. Smaller ones are left out on
/// both sides.
pub(crate) fn check_sampled(program: &Path) {
    check_lines(record(program).options(["--sample", "1"]).env("SYSPROF_MEMPROF_SEED", "1"), without_small);
}

/// Leaves out blocks below 20 bytes that are freed at once. A block that was reallocated into such a block was freed.
fn without_small(lines: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for line in lines {
        let before: Vec<&str> = kept.last().map(|line| line.split(' ').rev().collect()).unwrap_or_default();
        match before[..] {
            // `alloc CALL ADDRESS SIZE ALIGNMENT`, backwards.
            [_, size, address, ..]
                if line == format!("free {address}") && size.parse::<u64>().is_ok_and(|size| size < 20) =>
            {
                kept.pop();
            }
            [size, address, _, "realloc_end"]
                if line == format!("free {address}") && size.parse::<u64>().is_ok_and(|size| size < 20) =>
            {
                kept.pop();
                kept.push("realloc_freed".to_owned());
            }
            _ => kept.push(line),
        }
    }
    kept
}

fn check_lines(recording: Recording, choose: impl Fn(Vec<String>) -> Vec<String>) {
    let (ran, capture) = recording.succeed();
    compare(&ran, &capture, choose);
}

fn compare(ran: &Ran, capture: &Capture, choose: impl Fn(Vec<String>) -> Vec<String>) {
    let said = choose(ran.text().lines().map(str::to_string).collect());
    let events = capture.events();
    let calls = events.iter().filter(|event| {
        !matches!(
            event.kind.as_str(),
            "mmap" | "munmap" | "brk" | "process_end" | "thread_end" | "unsampled" | "alloc_failed"
        )
    });
    let recorded = choose(calls.map(line).collect());
    let recorded: Vec<_> = recorded.into_iter().skip_while(|line| *line != said[0]).collect();
    assert!(recorded.len() >= said.len(), "said {said:#?}\nrecorded {recorded:#?}");
    for (said, recorded) in said.iter().zip(&recorded) {
        assert_eq!(said, recorded);
    }
    assert_eq!(said.len(), recorded.len(), "more than was said: {:?}", &recorded[said.len()..]);
}

/// Check that all calls of the C interface are recorded as they were made, and that calls that fail or do nothing are
/// not.
#[test]
fn every_call_of_c_is_recorded() {
    for level in ["-O0", "-O2"] {
        check(&c("every_call").flags([level]).build());
    }
}

/// Check that with an allocator whose functions call one another each call of the program is recorded once.
#[test]
fn calls_between_functions_of_an_allocator_are_one() {
    let allocator = library("allocator_that_calls_itself").build();
    check(&c("every_call").with(&allocator).build());
}

/// Check that all forms of operator new and delete are recorded once, under the name that the program called.
#[test]
fn every_form_of_new_and_delete_is_recorded() {
    for level in ["-O0", "-O2"] {
        check(&cpp("every_new").flags([level]).build());
    }
}

/// Check that these forms work where there is no C++ library. Looking for one in vain costs allocations, which are
/// the agent's own and must not show up as frees of the program.
#[test]
fn forms_without_a_library_are_recorded() {
    let (ran, capture) = record(c("finds_new_alone").build()).run();
    assert_eq!((ran.code, capture.info()["totals"]["unmatched_frees"].as_u64()), (0, Some(0)));
    compare(&ran, &capture, |lines| lines);
}

/// Check the same for an allocator that brings forms of its own, which bypass its malloc.
#[test]
fn forms_of_an_allocators_own_are_recorded() {
    for ways in [&[][..], &["-DDELETE_CALLS_FREE"], &["-DNEW_CALLS_POSIX_MEMALIGN"]] {
        let allocator = cpp_library("allocator_with_new").flags(ways.iter().copied()).build();
        check(&cpp("every_new").with(&allocator).build());
    }
}

/// Check that pages which such forms take from the kernel count as the allocator's, and pages that the program maps
/// itself as the program's, even after a form has thrown.
#[test]
fn pages_of_forms_are_the_allocators() {
    let allocator = cpp_library("allocator_with_new").flags(["-DNEW_MAPS"]).build();
    let (_, capture) = record(cpp("maps_beside_new").with(&allocator).build()).succeed();
    let mappings = &capture.info()["mappings"];
    let numbers =
        ["mmap_calls", "mmap_bytes", "allocator_mmap_calls", "allocator_mmap_bytes", "own_peak_bytes"];
    let found = numbers.map(|name| mappings[name].as_u64().unwrap());
    let (own, of_forms) = (10 << 20, 18 * 8192);
    assert_eq!(found, [10 + 18, own + of_forms, 18, of_forms, own], "{mappings:#}");
}

/// Check that a mapping which `mremap` creates beside the old one counts, that a mapping which it empties still
/// exists, and that the break is where it is, whatever libc says.
#[test]
fn mappings_that_stay_when_they_are_moved_count() {
    const MIB: i64 = 1 << 20;
    let (ran, capture) = record(c("moves_its_pages").build()).run();
    if ran.code == 77 {
        return skip("mappings that stay", "the kernel has none");
    }
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let mappings = &capture.info()["mappings"];
    let expected = [
        ("mmap_calls", 3 + 2),
        ("mmap_bytes", (8 + 16 + 32 + 8 + 16) * MIB),
        ("mremap_calls", 2),
        ("mremap_growth_bytes", 32 * MIB),
        ("munmap_calls", 2),
        ("own_peak_bytes", 112 * MIB),
        ("brk_calls", 4),
        ("brk_growth_bytes", MIB + 4096),
    ];
    for (name, value) in expected {
        assert_eq!(mappings[name], value, "{name}: {mappings:#}");
    }
    // What moves counts as far as it grows.
    let view = capture.json(&["blocks", "--by", "mapping"]);
    let rows = view["rows"].as_array().expect("the view has rows");
    let sum = |field: &str| rows.iter().map(|row| row[field].as_i64().unwrap()).sum::<i64>();
    let of_size = capture.show(&["blocks", "--by", "mapping", "--size", "8"]);
    let is_refused = of_size.stderr.contains("leave --thread, --size");
    assert_eq!((of_size.code, is_refused), (2, true), "{}", of_size.stderr);
    let sums = ["mapped_bytes", "held_bytes"].map(sum);
    assert_eq!(
        sums,
        [(8 + 16 + 32 + 8 + 16 + 32 + 1) * MIB + 4096, (8 + 8 + 64 + 1) * MIB + 4096],
        "{view:#}"
    );
}

/// Check that a plug-in of a C program may start a thread while it is loaded, and wait for it: nothing in that thread
/// waits for the loader, whose lock is taken.
#[test]
fn plug_ins_may_start_threads_when_they_are_loaded() {
    let plug_in = cpp_library("starts_a_thread_when_loaded").flags(["-pthread"]).build();
    let (_, capture) = record(c("loads_it_again").build()).arg(&plug_in).arg("1").succeed();
    let rows = capture.rows_of_size(4);
    let calls: Vec<_> =
        rows.iter().map(|row| (&*row.call, row.number("allocations"), row.number("frees"))).collect();
    assert_eq!(calls, [("operator new", 1, 1)], "{rows:?}");
}

/// Check that all of this holds for samples, too: each call counts once, and its end is noticed.
#[test]
fn every_call_can_be_a_sample() {
    check_sampled(&c("every_call").flags(["-O2"]).build());
    check_sampled(&c("every_call").with(&library("allocator_that_calls_itself").build()).build());
    check_sampled(&cpp("every_new").flags(["-O2"]).build());
    let allocator = cpp_library("allocator_with_new").flags(["-DNEW_CALLS_POSIX_MEMALIGN"]).build();
    check_sampled(&cpp("every_new").with(&allocator).build());
    check_sampled(&cpp("every_new").with(&cpp_library("allocator_with_new").build()).build());
}

/// Check that allocations before `main` are recorded, with the constructor that made them.
#[test]
fn allocations_before_main_are_recorded() {
    let (_, capture) = record(c("constructor").build()).with_names().succeed();
    let row = capture.row_of_size(1234);
    assert_eq!((row.number("allocations"), row.number("frees")), (1, 1));
    assert_eq!(row.frames[0].function, "before_main", "{:?}", row.names());
    assert_eq!(row.state, "complete");
    assert_eq!(row.call, "malloc");
}

/// Check that times never run backwards in the merged order, and that all events have a process and a thread.
#[test]
fn events_are_in_order_and_have_owners() {
    let (_, capture) = record(c("mixed_calls").build()).succeed();
    let (events, info) = (capture.events(), capture.info());
    let pid = info["processes"][0]["pid"].as_u64().unwrap_or_default();
    assert!(events.len() > 40_000, "{}", events.len());
    assert!(events.windows(2).all(|pair| pair[0].time <= pair[1].time));
    assert_eq!(info["threads"], 1);
    assert!(pid > 0 && events.iter().all(|event| event.pid == pid && event.tid == pid));
}

/// Check that what an allocator, or libc on its behalf, allocates in the middle of a call does not end as a block that
/// nobody has allocated, preloaded or linked, with stacks of frees or without.
#[test]
fn what_an_allocator_keeps_is_freed_in_vain() {
    let allocator = cpp_library("allocator_with_objects").build();
    let program = c("allocates_in_turn").flags(["-fno-builtin"]);
    let linked = program.clone().with(&allocator).build();
    for options in [&[][..], &["--free-stacks"]] {
        let preloaded = record(program.build()).env("LD_PRELOAD", &allocator).options(options);
        for recording in [preloaded, record(&linked).options(options)] {
            let (_, capture) = recording.succeed();
            for (size, calls) in [(1234, 100), (2345, 100)] {
                let row = capture.row_of_size(size);
                assert_eq!((row.number("allocations"), row.number("frees")), (calls, calls), "{row:?}");
            }
            assert_eq!(capture.number("/totals/unmatched_frees"), 0, "{options:?}");
        }
    }
}
