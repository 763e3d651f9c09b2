//! Stacks are complete and right: glibc's own unwinder agrees, frame by frame.

use crate::harness::{Fixture, Row, c, cpp, library, probe_library, record, record_probes, rust};

/// Sets of compiler flags that lay out frames differently.
const LAYOUTS: [&[&str]; 6] = [
    &["-O0"],
    &["-O2", "-fomit-frame-pointer"],
    &["-O2", "-fno-omit-frame-pointer"],
    &["-O3"],
    &["-Os", "-fcf-protection=none"],
    &["-O2", "-no-pie"],
];

/// Compares the frames of every place where a program probes; returns the rows.
fn check_frames(fixture: &Fixture) -> Vec<Row> {
    let probes = record_probes(fixture);
    probes.iter().for_each(|(probe, row)| probe.assert_is(&row.frames));
    probes.into_iter().map(|(_, row)| row).collect()
}

/// The same for a program whose stacks all reach a beginning.
fn check(fixture: &Fixture) -> Vec<Row> {
    let rows = check_frames(fixture);
    for row in &rows {
        assert_eq!(row.state, "complete", "{:?}", row.names());
    }
    rows
}

/// The same with all layouts; returns the rows of each.
fn check_layouts(name: &str) -> Vec<Vec<Row>> {
    LAYOUTS.into_iter().map(|flags| check(&c(name).flags(flags.iter().copied()))).collect()
}

/// Checks that a stack begins with these functions and reaches the beginning of the program.
fn assert_names(row: &Row, inner: &[&str]) {
    let names = row.names();
    assert_eq!(names.iter().take(inner.len()).collect::<Vec<_>>(), inner, "{names:?}");
    assert_eq!(names.last().map(String::as_str), Some("_start"), "{names:?}");
}

/// Check that plain calls are found in every frame layout, with their names.
#[test]
fn nested_calls_are_complete() {
    for row in check_layouts("nested_calls").into_iter().flatten() {
        assert_names(&row, &["probe", "inner", "many", "outer", "main"]);
    }
}

/// Check that frames whose size is only known at run time are found.
#[test]
fn dynamic_stacks_are_complete() {
    for row in check_layouts("dynamic_stack").into_iter().flatten() {
        assert_names(&row, &["probe", "with_alloca", "with_array", "in_a_loop", "main"]);
    }
}

/// Check that frames which realign the stack are found.
#[test]
fn realigned_stacks_are_complete() {
    for row in check_layouts("realigned_stack").into_iter().flatten() {
        assert_names(&row, &["probe", "realigned", "realigned_with_arguments", "nested", "main"]);
    }
}

/// Check that calls between a program and a library are found, lazily bound or not.
#[test]
fn calls_between_modules_are_complete() {
    let callback = library("callback_library").with(&probe_library()).build();
    for binding in ["-Wl,-z,lazy", "-Wl,-z,now"] {
        for row in check(&c("through_plt").flags(["-O2", binding]).with(&callback)) {
            assert_names(&row, &["probe", "inner", "call_back", "outer", "call_back", "main"]);
        }
    }
}

/// Check that calls from inside libc are found: from sorting, searching and exiting.
#[test]
fn callbacks_of_libc_are_complete() {
    for rows in check_layouts("sort_callback") {
        for caller in ["qsort", "bsearch", "tsearch", "exit"] {
            let calls = |row: &Row| row.names().iter().any(|name| name.contains(caller));
            assert!(rows.iter().any(calls), "{caller}");
        }
        rows.iter().for_each(|row| assert_names(row, &["probe"]));
    }
}

/// Check that stacks pass through signal handlers to the code that was interrupted, also on another stack.
#[test]
fn signal_handlers_are_complete() {
    for rows in check_layouts("signal_handler") {
        for handler in ["on_usr1", "on_usr2", "on_timer", "on_fault"] {
            assert!(rows.iter().any(|row| row.names()[1] == handler), "{handler}");
        }
        rows.iter().for_each(|row| assert_names(row, &["probe"]));
        let fault = rows.iter().find(|row| row.is_of(1, 70020)).expect("the fault has its probe");
        let names: Vec<_> = fault.frames.iter().map(|frame| frame.function.as_str()).collect();
        // gcc names a specialised copy fault.isra.0.
        assert!(names[3].starts_with("fault") && names[4] == "main", "behind the trampoline: {names:?}");
    }
}

/// Check that stacks of threads end where the thread began.
#[test]
fn threads_are_complete() {
    for row in check_layouts("thread_start").into_iter().flatten() {
        let names = row.names();
        assert!(names.iter().any(|name| name == "inner" || name == "outer"), "{names:?}");
        assert!(!names.iter().any(|name| name == "main"), "{names:?}");
    }
}

/// Check that stacks on a coroutine's own stack end where it began, and do not continue on another stack.
#[test]
fn coroutines_end_where_they_began() {
    for (program, flags) in ["coroutine", "coroutine_of_boost"]
        .into_iter()
        .flat_map(|program| LAYOUTS.map(|flags| (program, flags)))
    {
        let rows = check_frames(&c(program).flags(flags.iter().copied()));
        let (mains, coroutines): (Vec<_>, Vec<_>) =
            rows.iter().partition(|row| row.names().iter().any(|name| name == "main"));
        assert_eq!((mains.len(), coroutines.len()), (1, 2), "{program}: {rows:#?}");
        assert_names(mains[0], &["probe", "inner", "main"]);
        assert!(coroutines.iter().all(|row| row.state == "complete"), "{program}: {coroutines:#?}");
    }
}

/// Check that stacks are right where exceptions are thrown, pass through, and are caught.
#[test]
fn exceptions_are_complete() {
    for level in ["-O0", "-O2", "-O3"] {
        let rows = check(&cpp("exceptions").flags([level]));
        assert!(rows.len() >= 8, "{}", rows.len());
        rows.iter().for_each(|row| assert_names(row, &["probe"]));
    }
}

/// Check that Rust's closures, trait objects, panics and threads are complete, with demangled names.
#[test]
fn rust_is_complete() {
    for level in ["opt-level=0", "opt-level=3"] {
        let rows = check(&rust("closures_and_panics").flags(["-C", level]));
        let has = |text: &str| rows.iter().any(|row| row.names().iter().any(|name| name.contains(text)));
        assert!(has("closures_and_panics::main"), "{:?}", rows[0].names());
        assert!(has("panics"));
    }
}

/// Check that a recursion deeper than the limit yields a stack of exactly that depth, which says that it was cut.
#[test]
fn recursion_beyond_the_limit_is_cut_there() {
    let program = c("deep_recursion").flags(["-O0"]).build();
    for limit in [1, 7, 64] {
        let depth = limit.to_string();
        let recording = record(&program).args(["500"]).options(["--max-depth", &depth]).with_names();
        let (_, capture) = recording.succeed();
        let row = capture.row_of_size(70001);
        assert_eq!(row.frames.len(), limit, "{:?}", row.names());
        assert_eq!(row.state, "truncated");
        assert!(row.names().iter().all(|name| name == "down"), "{:?}", row.names());
        assert_eq!(capture.info()["stacks"]["truncated"], 1);
        let tree = capture.show(&["report", "--tree", "--by", "allocations"]);
        assert_eq!(tree.text().matches("[truncated stack]").count(), 1, "{}", tree.text());
    }
}

/// Check that the default limit is far above what programs need, and that one more frame is cut.
#[test]
fn default_limit_is_1024_frames() {
    // main, __libc_start_call_main, __libc_start_main, _start, and the last call of down.
    let frames_around = 5;
    for (depth, frames, state) in
        [(1000, 1000 + frames_around, "complete"), (1020, 1024, "truncated"), (20000, 1024, "truncated")]
    {
        let program = c("deep_recursion").flags(["-O0"]).build();
        let (_, capture) = record(program).args([depth.to_string()]).succeed();
        let row = capture.row_of_size(70001);
        assert_eq!((row.frames.len(), row.state.as_str()), (frames, state), "depth {depth}");
    }
}

/// Check that code without tables is crossed by its frame pointer, and that without one the stack says why it ends:
/// it never has a false root.
#[test]
fn code_without_tables_is_never_a_false_root() {
    for flags in LAYOUTS {
        let probes = record_probes(&c("code_without_tables").flags(flags.iter().copied()));
        assert_eq!(probes.len(), 3);
        for (_, row) in &probes {
            let names = row.names();
            let ends_at_start = names.last().is_some_and(|name| name == "_start");
            assert_eq!(row.state == "complete", ends_at_start, "{flags:?}: {names:?} {}", row.state);
            let passed = names.iter().any(|name| name == "main");
            assert!(passed || names[1] != "called_with_frame", "{flags:?}: {names:?}");
        }
    }
}

/// Check that frame pointers which point nowhere or in circles, and impossible return addresses, do no harm: the
/// events are recorded, and their stacks say that they are incomplete.
#[test]
fn impossible_frames_leave_incomplete_stacks() {
    let (ran, capture) = record(c("odd_stacks").build()).succeed();
    let counts: Vec<u64> = ran.text().split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [by_pointer, by_table] = counts[..] else { panic!("{}", ran.text()) };
    for (first, count) in [(1801, by_pointer), (1901, by_table)] {
        let bytes = (first..first + count).sum();
        let odd: Vec<_> = capture.rows().into_iter().filter(|row| row.is_of(count, bytes)).collect();
        // All that can be known is where the call came from.
        assert_eq!(odd.len(), 1, "{:#?}", capture.rows());
        assert_eq!((odd[0].frames.len(), odd[0].state.as_str()), (1, "incomplete"), "{odd:#?}");
        assert_eq!(odd[0].number("frees"), count);
    }
}

/// Check that no stack shows the agent, and that its innermost function is the one that called the allocator.
#[test]
fn no_stack_shows_the_agent() {
    let programs = [c("every_call").build(), cpp("every_new").build(), c("mixed_calls").build()];
    for program in programs {
        let (_, capture) = record(&program).with_names().succeed();
        let rows = capture.rows();
        assert!(!rows.is_empty());
        for row in rows {
            assert!(row.frames.iter().all(|frame| !frame.module.contains("memprof")), "{:#?}", row.frames);
            assert!(!row.frames.is_empty() && row.state == "complete", "{:#?}", row.value);
        }
    }
}
