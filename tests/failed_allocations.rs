//! Calls that return no memory: who asked for how much, whatever becomes of the program.

use crate::harness::{Capture, Event, Ran, c, cpp, cpp_library, for_musl, installed, record, skip, wait};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn failures(capture: &Capture) -> Vec<Event> {
    let mut events = capture.events();
    events.retain(|event| event.kind == "alloc_failed");
    events
}

/// Compares what the program reports about its failed calls with what was recorded.
fn compare(ran: &Ran, capture: &Capture) {
    let line = |event: &Event| {
        let Event { call, size, alignment, error, .. } = event;
        // As in the source: compilers append more to the names of modified copies.
        let function = event.stack.first().and_then(|name| name.split('.').next()).unwrap_or_default();
        format!("{call} {size} {alignment} {error} {function}")
    };
    let recorded: Vec<String> = failures(capture).iter().map(line).collect();
    let said: Vec<&str> = ran.text().lines().collect();
    assert_eq!(recorded, said);
    assert!(said.len() >= 14, "{said:#?}");
    for event in failures(capture) {
        assert!(event.stack.iter().any(|function| function == "main"), "{event:?}");
    }
    // They are no allocations: the program has two blocks, and libc has some for itself.
    let info = capture.info();
    assert_eq!(info["totals"]["failed_calls"], said.len());
    let largest = capture.events().iter().filter(|event| event.kind == "alloc").map(|event| event.size).max();
    assert!(largest.is_none_or(|size| size < 1 << 20), "{largest:?}");
}

fn check(program: &Path, options: &[&str]) {
    let (ran, capture) = record(program).options(options).with_names().run();
    let alone = wait(capture.world(), Command::new(program));
    assert_eq!((ran.code, ran.text(), ran.stderr.as_str()), (0, alone.text(), alone.stderr.as_str()));
    compare(&ran, &capture);
    assert_eq!(capture.number("/lost/events"), 0);
}

/// Check that each C function that fails is recorded with what was requested, from where, and with its error; that
/// `errno` and the results are unchanged for the program; and that none of it counts as an allocation. Samples make
/// no difference.
#[test]
fn every_call_of_c_that_fails_is_told() {
    for level in ["-O0", "-O2"] {
        let program = c("asks_for_too_much").flags([level, "-fno-builtin"]).build();
        check(&program, &[]);
        check(&program, &["--sample", "1M"]);
    }
}

/// Check the same for musl's functions.
#[test]
fn every_call_of_musl_that_fails_is_told() {
    let Some(fixture) = for_musl("asks_for_too_much") else { return };
    check(&fixture.flags(["-O1", "-fno-builtin"]).build(), &[]);
}

/// Check that each form of operator new that fails is recorded once, under its own name, whether it throws or not,
/// and with either kind of allocator; and that a caught exception is left alone.
#[test]
fn every_form_of_new_that_fails_is_told() {
    let own = cpp_library("allocator_with_new").build();
    let wrapped = cpp_library("allocator_with_new").flags(["-DNEW_CALLS_POSIX_MEMALIGN"]).build();
    let program = cpp("asks_for_too_much").flags(["-O1"]);
    let is_callers =
        |name: &str| ["operator()", "main", "allocate", "take"].iter().any(|part| name.contains(part));
    for (fixture, is_wrapped) in
        [(program.clone(), false), (program.clone().with(&own), true), (program.with(&wrapped), true)]
    {
        let (ran, capture) = record(fixture.build()).with_names().run();
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        let line = |event: &Event| format!("{} {} {}", event.call, event.size, event.alignment);
        let recorded: Vec<String> = failures(&capture).iter().map(line).collect();
        let said: Vec<&str> = ran.text().lines().collect();
        assert_eq!((recorded.iter().map(String::as_str).collect::<Vec<_>>(), said.len()), (said, 9));
        for event in failures(&capture) {
            assert!(event.stack.iter().any(|name| name.contains("fails")), "{event:?}");
            // No frames of throwing or unwinding.
            let is_of_new = event.stack[0].starts_with("operator new");
            assert!(is_of_new || is_wrapped && is_callers(&event.stack[0]), "{event:?}");
        }
    }
}

/// Check that the call is recorded for a program that ends by a signal right after it, and that summary, list and
/// check show it.
#[test]
fn a_program_that_aborts_for_want_of_memory_says_who_asked() {
    let program = c("asks_for_too_much").flags(["-O1", "-fno-builtin"]).build();
    let (ran, capture) = record(program).arg("aborts").with_names().run();
    assert_eq!(ran.code, 128 + 6, "{}", ran.stderr);
    let document = capture.json(&["errors"]);
    let rows = document["failed"].as_array().unwrap();
    assert_eq!(
        (rows.len(), &document["failed_calls"], &document["told"]),
        (1, &1.into(), &true.into()),
        "{document:#}"
    );
    let row = &rows[0];
    assert_eq!(
        (&row["call"], &row["largest"], &row["error"]),
        (&"malloc".into(), &(2_u64 << 40).into(), &"ENOMEM".into())
    );
    assert_eq!(
        (&row["stack"][0]["function"], row["threads"].as_array().map(Vec::len)),
        (&"by_malloc".into(), Some(1))
    );
    let text = capture.show(&["errors"]);
    assert!(text.text().contains("malloc of 2.00 TiB failed after"), "{}", text.text());
    assert!(text.text().contains("out of memory (ENOMEM)\n  the process held "), "{}", text.text());
    let info = capture.show(&["info"]);
    assert!(info.text().contains("1 (see: errors)"), "{}", info.text());
    let check = capture.show(&["check", "--max-failed", "0"]);
    assert_eq!(
        (check.code, check.text().contains("FAIL  failed  1, limit 0")),
        (1, true),
        "{}",
        check.text()
    );
    assert_eq!(capture.show(&["check", "--max-failed", "1"]).code, 0);
}

/// Check that failed calls in children of vfork and fork and in signal handlers are recorded, each for its own
/// process. No stack can be taken in a child of vfork.
#[test]
fn children_and_handlers_are_told() {
    let (_, capture) =
        record(c("fails_everywhere").flags(["-O1", "-fno-builtin"]).build()).with_names().succeed();
    let events = failures(&capture);
    let told: Vec<(u64, bool)> =
        events.iter().map(|event| (event.size - (1 << 47), event.pid == events[0].pid)).collect();
    assert_eq!(told, [(1, true), (2, false), (3, true)], "{events:?}");
    for event in &events[1..] {
        assert_eq!((event.stack[0].as_str(), event.error.as_str()), ("ask", "ENOMEM"), "{event:?}");
    }
    assert!(events[2].stack.iter().any(|name| name == "handle"), "{:?}", events[2]);
    assert_eq!(capture.number("/lost/events"), 0);
}

/// Check that an aggregated capture has the number of failed calls of each stack, and a database each of them.
#[test]
fn other_forms_of_a_capture_have_them() {
    let program = c("asks_for_too_much").flags(["-O1", "-fno-builtin"]).build();
    let (ran, capture) = record(&program).with_names().run();
    let said = ran.text().lines().count();
    let told = |capture: &Capture| {
        let document = capture.json(&["errors"]);
        let rows = document["failed"].as_array().unwrap();
        let calls = rows.iter().map(|row| row["calls"].as_u64().unwrap()).sum::<u64>();
        let mut functions: Vec<Value> = rows.iter().map(|row| row["stack"][0]["function"].clone()).collect();
        functions.sort_by_key(ToString::to_string);
        (calls, functions)
    };
    let (_, aggregated) = record(&program).options(["--aggregate"]).with_names().run();
    assert_eq!((told(&aggregated), told(&capture).0), (told(&capture), said as u64));
    let statement = "select count(*) as calls, count(distinct stack) as stacks, max(size) as largest from failed_allocations \
                     where error = 'ENOMEM' and size > 0";
    let asked = capture.show(&["query", "--json", statement]);
    if asked.code == 0 {
        let row: Value = serde_json::from_str(asked.text()).unwrap();
        // Except a product that overflows, which is -1, and an invalid alignment.
        assert_eq!((&row["calls"], &row["largest"]), (&(said - 3).into(), &(2_u64 << 40).into()), "{row}");
    }
}

/// Check that with real programs it is shown who asked.
#[test]
fn real_programs_say_who_asked() {
    if installed("python3").is_none() {
        return skip("python3", "not installed");
    }
    let script = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (1 << 36, 1 << 36))\n\
                  try:\n  bytearray(1 << 40)\nexcept MemoryError:\n  print('caught')";
    let (ran, capture) = record("python3").args(["-c", script]).run();
    assert_eq!((ran.code, ran.text()), (0, "caught\n"), "{}", ran.stderr);
    let events = failures(&capture);
    assert!(events.iter().any(|event| event.size == (1 << 40) + 1 && !event.stack.is_empty()), "{events:?}");
    if installed("sort").is_some() {
        let script = "ulimit -v 16777216; exec sort -S 64G --parallel=1 /dev/null";
        let (ran, capture) = record("sh").args(["-c", script]).run();
        let events = failures(&capture);
        // It then asks for less, or gives up: both are fine.
        assert!(ran.code == 0 || ran.stderr.contains("memory exhausted"), "{}", ran.stderr);
        assert!(events.iter().all(|event| event.error == "ENOMEM"), "{events:?}");
    }
}
