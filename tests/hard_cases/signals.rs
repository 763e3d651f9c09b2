//! Handlers that leave what they have interrupted.

use super::super::harness::{c, library, record};

/// Check that a handler which leaves by `longjmp`, even out of hooks, does not stop the thread from being recorded:
/// what comes afterwards is there, call by call, and what is missing before is counted.
#[test]
fn hooks_that_were_left_by_longjmp_are_given_up() {
    let allocator = library("signal_safe_allocator").build();
    let program = c("leaves_hooks_by_longjmp").flags(["-O1"]).with(&allocator).build();
    let (ran, capture) = record(program).args(["500"]).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let handled: u64 = ran.text().trim().parse().expect("a number");
    let row = capture.row_of_size(2203);
    assert_eq!((row.number("allocations"), row.number("frees")), (1000, 1000));
    let info = capture.info();
    let number = |path: &str| info.pointer(path).and_then(serde_json::Value::as_u64).unwrap_or(0);
    let in_handlers: u64 = capture.rows_of_size(2201).iter().map(|row| row.number("allocations")).sum();
    let lost = number("/lost/gap_allocations");
    assert_eq!(in_handlers + lost, handled, "{:#}", info["lost"]);
    assert_eq!(number("/overhead/agent_allocations"), 0);
    assert_eq!(number("/totals/conflicts") + number("/totals/unmatched_frees"), 0, "{:#}", info["totals"]);
}

/// Check that a hook goes on when the handler that interrupted it ends, even if the kernel does not tell that the
/// handler ran on a stack of its own: everything is recorded except what the handler called meanwhile, which is
/// counted.
#[test]
fn hooks_go_on_after_handlers_on_disarmed_stacks() {
    let allocator = library("signal_safe_allocator").build();
    let program = c("disarmed_signal_stack").flags(["-O1"]).with(&allocator).build();
    let (ran, capture) = record(program).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let counts: Vec<u64> =
        ran.text().split_whitespace().map(|count| count.parse().expect("a number")).collect();
    let info = capture.info();
    let number = |path: &str| info.pointer(path).and_then(serde_json::Value::as_u64).unwrap_or(0);
    let of_size = |size| capture.rows_of_size(size).iter().map(|row| row.number("allocations")).sum::<u64>();
    assert_eq!(of_size(2302), counts[1], "{info:#}");
    let in_handlers = of_size(2301);
    assert_eq!(in_handlers + number("/lost/gap_allocations"), counts[0], "{:#}", info["lost"]);
    assert!(in_handlers < counts[0], "no hook was interrupted");
}

/// Check that a handler which interrupts a hook and forks leaves its own process' recording intact: the hook ends in
/// the child, too, when the handler returns.
#[test]
fn handlers_fork_within_hooks() {
    for way in ["fork", "_Fork"] {
        let program = c("forks_in_a_handler").flags(["-O1".to_owned(), format!("-DFORK={way}")]);
        let (ran, capture) = record(program.build()).run();
        assert_eq!(ran.code, 0, "{way}: {}", ran.stderr);
        let info = capture.info();
        assert_eq!(
            (&info["lost"]["events"], &info["totals"]["stray_events"]),
            (&0.into(), &0.into()),
            "{way}: {info:#}"
        );
        let made: u64 = ran.text().trim().parse().expect("a number");
        let row = capture.row_of_size(2101);
        let recorded = row.number("allocations");
        assert!((made..=made + 50 * 102).contains(&recorded), "{way}: {recorded} of {made}");
    }
}

/// Check that a signal which arrives while the agent looks up an `operator new` is handled afterwards: what its
/// handler allocates is recorded, and the thread is still recorded if the handler leaves by `longjmp`.
#[test]
fn signals_wait_for_calls_of_the_agents_own() {
    for (way, in_call) in [("stays", 1), ("leaves", 0)] {
        let program = c("interrupted_look_up").flags(["-O1"]).build();
        let (ran, capture) = record(program).args([way]).run();
        assert_eq!((ran.code, ran.text().trim()), (0, "1"), "{way}: {}", ran.stderr);
        let info = capture.info();
        let of_size =
            |size| capture.rows_of_size(size).iter().map(|row| row.number("allocations")).sum::<u64>();
        assert_eq!([2601, 2602, 2603].map(of_size), [1, in_call, 100], "{way}: {info:#}");
        assert_eq!((&info["overhead"]["agent_allocations"], &info["lost"]["events"]), (&0.into(), &0.into()));
    }
}

/// Check that what a handler allocates is recorded or counted, wherever in the agent it has interrupted a call, and
/// that the call is recorded if it goes on.
#[cfg(target_arch = "x86_64")]
#[test]
fn hooks_may_be_interrupted_anywhere() {
    let allocator = library("signal_safe_allocator").build();
    let program = c("interrupted_everywhere").flags(["-O1"]).with(&allocator).build();
    for way in ["stays", "leaves"] {
        let (ran, capture) = record(&program).args([way, "6"]).run();
        assert_eq!(ran.code, 0, "{way}: {}", ran.stderr);
        let counts: Vec<u64> =
            ran.text().split_whitespace().map(|count| count.parse().expect("a number")).collect();
        let (handled, made) = counts.split_last().expect("what the handler did");
        let info = capture.info();
        let of_size =
            |size| capture.rows_of_size(size).iter().map(|row| row.number("allocations")).sum::<u64>();
        let lost = info["lost"]["gap_allocations"].as_u64().unwrap_or(0);
        let in_handlers = of_size(2501);
        assert_eq!(in_handlers + lost, *handled, "{way}: {:#}", info["lost"]);
        assert!(lost > 0 && in_handlers > 0, "{way}: {in_handlers} of {handled}");
        // The first two kinds of calls are counted separately.
        let calls: u64 = made.iter().skip(2).sum();
        let in_calls = of_size(2502);
        // A call that was left does not count.
        let left = if way == "leaves" { handled } else { &0 };
        assert!((calls - left..=calls).contains(&in_calls), "{way}: {in_calls} of {calls}");
        let totals = &info["totals"];
        assert_eq!((&totals["conflicts"], &totals["unmatched_frees"]), (&0.into(), &0.into()), "{way}");
        assert_eq!(info["overhead"]["agent_allocations"], 0, "{way}");
    }
}
