//! What the summary of a recording and the notes below a report say.

use crate::shown;
use crate::support::Made;
use analysis::Metric;
use capture::{Ended, Process, ProcessEnd};
use engine::Loaded;
use report::text::{Style, suppressed_text};

fn lines(loaded: &Loaded) -> Vec<String> {
    shown::summary(loaded, "memprof", &Style::default()).lines().map(str::to_owned).collect()
}

/// Check that what a process holds that goes on is not called leaked, also if that is nothing.
#[test]
fn who_still_runs_leaks_nothing() {
    for (ended, line) in [
        (Ended::Running, "still held    0 B in 0 blocks"),
        (Ended::Exited(0), "leaked        0 B in 0 blocks"),
    ] {
        let mut made = Made::new();
        let end = Some(ProcessEnd { ended, time: 5 });
        made.process_row(Process { pid: 7, name: "sleep".into(), end, ..Process::default() });
        let lines = lines(&made.loaded("app.memprof"));
        let said: Vec<_> = lines
            .iter()
            .filter(|line| line.starts_with("still held") || line.starts_with("leaked"))
            .collect();
        assert_eq!(said, [line]);
    }
}

/// Check that threads are said to be those that allocated, and a cost of which nothing was timed is no 0.
#[test]
fn numbers_say_what_they_count() {
    let mut made = crate::support::fixtures::small();
    made.tables.summary = Some(capture::Summary::default());
    let lines = lines(&made.loaded("app.memprof"));
    let line = |about: &str| lines.iter().find(|line| line.starts_with(about)).cloned().unwrap_or_default();
    assert_eq!(line("threads"), "threads       1 that allocated or freed, in 1 process");
    assert!(
        line("cost").ends_with(" CPU in the collector, too few events to time in the program"),
        "{lines:?}"
    );
}

/// Check that an advice which fits several reasons is given once.
#[test]
fn advice_is_given_once() {
    let (mut made, _, thread) = Made::app();
    let reasons =
        ["No symbols in binary file", "Code made at run time was not told of", "No symbols in binary file"];
    for (place, (reason, module)) in (1_u64..).zip(reasons.into_iter().zip(["/a.so", "[made]", "/b.so"])) {
        let frame = made.frame(Some(module), &[]);
        made.reason(frame, reason);
        let stack = made.node(capture::NodeId::ROOT, frame);
        made.alloc(thread, 0x1000 * place, 10 * place, stack);
    }
    // The same advice for another reason, with what is between them in the order of sizes.
    let frame = made.frame(Some("/c.so"), &[]);
    made.reason(frame, "Address has no corresponding symbol in file");
    let stack = made.node(capture::NodeId::ROOT, frame);
    made.alloc(thread, 0x9000, 15, stack);
    let text = shown::info(&made.loaded("app.memprof"), None, &Style::default());
    let advice: Vec<&str> = text.lines().filter(|line| line.contains("debug symbols")).collect();
    assert_eq!(advice.len(), 1, "{text}");
}

/// Check that whoever shows all that was left says how much of it `leaks` leaves out, and nobody else does.
#[test]
fn what_leaks_leaves_out_is_said() {
    let (mut made, process, thread) = Made::app();
    let frame = made.frame(Some("/lib/ld-linux-x86-64.so.2"), &["_dl_init"]);
    let stack = made.node(capture::NodeId::ROOT, frame);
    made.alloc(thread, 0x1000, 96, stack);
    made.end(process, thread, Ended::Exited(0));
    let loaded = made.loaded("app.memprof");
    let said = suppressed_text(&loaded, Metric::Leaked);
    assert_eq!(said.as_deref(), Some("including 96 B in 1 block that leaks suppresses"));
    assert_eq!(suppressed_text(&loaded, Metric::Peak), None);
}
