//! `top`: a process is observed while it runs, and left as it was found.

use crate::harness::{Page, Service, World, c, number, start, wait, wait_for};
use capture::Reader;
use serde_json::Value;

/// The JSON documents on the lines of a text.
fn documents(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("each line is a document")).collect()
}

/// The row of the stack with which a function allocates.
fn row<'a>(document: &'a Value, function: &str) -> &'a Value {
    let rows = document["rows"].as_array().expect("there are rows");
    let found = rows.iter().find(|row| row["stack"][0]["function"] == function);
    found.unwrap_or_else(|| panic!("no row of {function}: {document:#}"))
}

/// Check that reports name what holds and what churns, that nothing is kept, and that the process is dormant
/// afterwards.
#[test]
fn top_names_who_holds_and_who_churns() {
    let server = Service::that_grows();
    let ran =
        wait(&server.world, server.tool("top", &["--batch", "-n", "3", "--json", "--on-full", "block"]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let documents = documents(ran.text());
    assert_eq!(documents.len(), 3);
    let mut before = 0;
    for document in &documents {
        assert_eq!((&document["document"], &document["ended"]), (&"top".into(), &false.into()));
        assert_eq!(number(document, "/lost_events"), 0);
        let (hold, churn) = (row(document, "hold"), row(document, "churn"));
        let held = number(hold, "/held_bytes");
        assert_eq!(held, 1024 * number(hold, "/held_blocks"));
        assert_eq!(held, number(hold, "/growth_bytes"));
        assert_eq!(held - before, number(hold, "/step_bytes"));
        assert!(held > before, "{document:#}");
        // At most the one block that is between its two calls at the moment.
        assert!(number(churn, "/held_blocks") <= 1, "{churn:#}");
        assert!(number(churn, "/allocations") >= 100 * number(hold, "/allocations"), "{document:#}");
        assert!(number(churn, "/allocations_per_second") > number(hold, "/allocations_per_second"));
        before = held;
    }
    assert_eq!(documents[0]["rows"][0]["stack"][0]["function"], "hold", "it holds most");
    wait_for("the process to leave its recording", || server.row()["state"] == "dormant");
    let world = server.stop();
    let captures = std::fs::read_dir(world.folder()).expect("the folder is ours").flatten();
    assert_eq!(captures.filter(|file| file.file_name().to_string_lossy().contains("memprof")).count(), 0);
}

/// Check that rows are in the requested order, also as text.
#[test]
fn top_sorts_by_rate() {
    let server = Service::that_grows();
    let ran =
        wait(&server.world, server.tool("top", &["--batch", "-n", "1", "--by", "rate", "--limit", "1"]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let lines: Vec<&str> = ran.text().lines().collect();
    assert!(lines[0].starts_with("holds_and_churns (") && lines[0].contains("RSS"), "{lines:?}");
    assert!(lines[3].ends_with("sorted by rate"), "{lines:?}");
    assert!(lines[4].contains("  churn (holds_and_churns.c:"), "{lines:?}");
    assert!(lines[5].contains("more stack"), "{lines:?}");
    server.stop();
}

/// The row of a function among functions.
fn function<'a>(document: &'a Value, name: &str) -> &'a Value {
    let rows = document["functions"].as_array().expect("there are functions");
    let found = rows.iter().find(|row| row["function"] == name);
    found.unwrap_or_else(|| panic!("no row of {name}: {document:#}"))
}

/// Check that functions have what they allocate themselves, and what they allocate with everything that they call,
/// sorted by either and by the requested metric; and that nothing of the recording is lost because of it.
#[test]
fn top_shows_functions() {
    let server = Service::that_grows();
    let top = |more: &[&str]| {
        let mut arguments = vec!["--batch", "-n", "2", "-d", "0.5", "--on-full", "block"];
        arguments.extend(more);
        let ran = wait(&server.world, server.tool("top", &arguments));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran
    };
    let ran = top(&["--json", "--functions"]);
    for document in documents(ran.text()) {
        assert_eq!((&document["functions_by"], number(&document, "/lost_events")), (&"total".into(), 0));
        let [hold, churn, main] = ["hold", "churn", "main"].map(|name| function(&document, name));
        assert_eq!(hold["self"], hold["total"]);
        assert_eq!(number(main, "/self/allocations"), 0);
        for field in ["held_bytes", "growth_bytes", "allocations", "step_blocks", "frees", "temporary"] {
            // What churns has one block less than before as often as one more.
            let sum = |row: &Value| row["total"][field].as_i64().expect("a number");
            assert_eq!(sum(main), sum(hold) + sum(churn), "{field}: {document:#}");
        }
        assert_eq!(number(main, "/total/allocations"), number(&document, "/total/allocations"));
    }
    let ran = top(&["--json", "--functions=self", "--by", "calls", "--limit", "1"]);
    for document in documents(ran.text()) {
        assert_eq!(document["functions"][0]["function"], "churn", "{document:#}");
        assert!(
            number(&document, "/hidden_functions") >= 2 && document.get("rows").is_none(),
            "{document:#}"
        );
    }
    let ran = top(&["--functions=self", "--by", "growth"]);
    let lines: Vec<&str> = ran.text().lines().collect();
    assert!(lines[3].ends_with("     self  function, by self growth"), "{lines:?}");
    assert!(lines[4].ends_with("  hold"), "{lines:?}");
    server.stop();
}

/// Check that `top` of a process that ends says so with a last report of what it held, and keeps the capture if
/// requested.
#[test]
fn top_ends_with_its_process() {
    let server = Service::that_grows();
    let more = ["--json", "-d", "0.1", "-o", "kept.memprof", "--on-full", "block", "--max-wait", "100s"];
    let top = start(&server.world, server.tool("top", &more));
    wait_for("the recording", || server.row()["state"] == "recorded");
    server.work();
    let world = server.stop();
    let ran = top.wait();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let documents = documents(ran.text());
    let last = documents.last().expect("there is a last report");
    assert!(documents.iter().rev().skip(1).all(|document| document["ended"] == false));
    assert_eq!(last["ended"], true);
    // What it did while it was watched: twenty turns.
    for (field, least) in
        [("held_bytes", 19 * 1024), ("allocations", 20_000), ("frees", 19_000), ("temporary", 19_000)]
    {
        assert!(number(last, &format!("/total/{field}")) >= least, "{field}: {last:#}");
    }
    let mut report = world.tool(["report", "--json"]);
    report.arg(world.path("kept.memprof"));
    let report: Value = serde_json::from_str(wait(&world, report).text()).expect("report prints JSON");
    for (field, same) in [
        ("held_bytes", "leaked_bytes"),
        ("allocations", "allocations"),
        ("frees", "frees"),
        ("temporary", "temporary"),
    ] {
        let expected = number(&report, &format!("/total/{same}"));
        assert_eq!(number(last, &format!("/total/{field}")), expected, "{field}");
    }
}

/// Check that for a process that is already recorded that recording is shown, from its beginning, and goes on.
#[test]
fn top_shows_a_recording_that_runs() {
    let server = Service::that_grows();
    let more = ["--no-symbolize", "--on-full", "block", "--max-wait", "100s", "-o", "other.memprof"];
    let collector = start(&server.world, server.tool("attach", &more));
    wait_for("the recording", || server.row()["state"] == "recorded");
    server.work();
    let refused = wait(&server.world, server.tool("top", &["-n", "1", "-o", "second.memprof"]));
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("already recorded"), "{}", refused.stderr);
    let mut shown = Value::Null;
    wait_for("what was recorded so far", || {
        let ran = wait(&server.world, server.tool("top", &["-n", "1", "-d", "0.1", "--json"]));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stderr.contains("other.memprof"), "{}", ran.stderr);
        shown = documents(ran.text()).swap_remove(0);
        number(&shown, "/total/held_bytes") > 0
    });
    let [hold, churn] = ["hold", "churn"].map(|function| row(&shown, function));
    // At most the one block that was between its two calls when the recording was written.
    assert!(number(churn, "/held_blocks") <= 1, "{shown:#}");
    let held = number(hold, "/held_bytes") + number(churn, "/held_bytes");
    assert_eq!(number(&shown, "/total/held_bytes"), held, "{shown:#}");
    assert_eq!(server.row()["state"], "recorded");
    assert_eq!(wait(&server.world, server.tool("detach", &[])).code, 0);
    assert_eq!(collector.wait().code, 0);
    server.stop();
}

/// Check that `top` scans the process at its end if the capture is kept, and says what to do if nobody could look at
/// the scan.
#[test]
fn top_scans_at_exit_what_is_kept() {
    let server = Service::that_grows();
    let ran = wait(&server.world, server.tool("top", &["-n", "1", "--scan-at-exit"]));
    assert_eq!((ran.code, ran.text()), (2, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("name one with --output"), "{}", ran.stderr);
    assert_eq!(server.row()["state"], "dormant");
    let more = ["--json", "-d", "0.1", "-o", "kept.memprof", "--scan-at-exit", "--no-symbolize"];
    let top = start(&server.world, server.tool("top", &more));
    wait_for("the recording", || server.row()["state"] == "recorded");
    // The collector that records it decides.
    let ran = wait(&server.world, server.tool("top", &["-n", "1", "--scan-at-exit"]));
    assert!(ran.code == 2 && ran.stderr.contains("already recorded"), "{} {}", ran.code, ran.stderr);
    server.work();
    let world = server.stop();
    let ran = top.wait();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let scans = Reader::open(world.path("kept.memprof")).expect("it is a capture").into_tables().scans;
    assert_eq!(scans.len(), 1);
}

/// Check that `top` of a process without the agent says what to do, and that nothing is printed.
#[test]
fn top_wants_the_agent() {
    let world = World::new();
    let page = Page::new(&world);
    let mut command = world.command(c("holds_and_churns").flags(["-O1", "-g"]).build());
    command.arg(&page.path);
    let running = start(&world, command);
    page.wait_for_calls(1, 1000);
    let ran = wait(&world, world.tool(["top", "--no-inject", &running.pid().as_raw_nonzero().to_string()]));
    assert_eq!((ran.code, ran.text()), (2, ""));
    assert!(ran.stderr.contains("agent path"), "{}", ran.stderr);
    page.stop();
    assert_eq!(running.wait().code, 5);
}
