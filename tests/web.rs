//! The web report: its modules alone, its numbers, and the page as a browser shows it.
//!
//! Tests that need node or a browser say so and are skipped if these are not installed.

use crate::harness::{Capture, Page, Ran, World, c, cpp, installed, record, skip, wait};
use capture::{
    Action, Area, AreaKind, Counter, CounterKind, CpuSummary, Create, Ended, Event, Frame, FrameId, Metadata,
    NodeId, Object, Pointer, Process, ProcessEnd, ProcessId, Scan, SourceFrame, StringId, Summary,
    Symbolized, Thread, ThreadId, Writer,
};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Names that would execute something if they were taken for markup.
const HOSTILE: [&str; 4] = [
    "</script><script>document.title='broken in'</script>",
    "<img src=x onerror=\"document.title='broken in'\">",
    "{{DATA}} ${document.title='broken in'} `",
    "\u{202e}\u{0}\n<style>*{display:none}</style>",
];

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("web").join(name)
}

fn assets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../viewer/web/src/assets")
}

/// Runs a script of `web/`, which gets the folder of the modules first.
fn run(world: &World, name: &str, arguments: &[&Path]) {
    let Some(node) = installed("node") else { return skip(name, "node is not installed") };
    let mut command = world.command(node);
    command.arg(script(name)).arg(assets()).args(arguments);
    let ran = wait(world, command);
    assert_eq!(ran.code, 0, "{}{}", String::from_utf8_lossy(&ran.stdout), ran.stderr);
}

/// A browser, if there is one.
fn browser() -> Option<PathBuf> {
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(installed)
}

/// Runs the script that examines a page in a browser.
fn browse(world: &World, page: &Path, expected: &Path) {
    let Some(browser) = browser() else { return skip("pages in a browser", "no Chromium is installed") };
    let pictures = world.path("pictures");
    std::fs::create_dir_all(&pictures).expect("the folder is ours");
    run(world, "click_through.mjs", &[&browser, page, expected, &pictures]);
}

/// Writes the page of a capture.
fn page_of(capture: &Capture) -> PathBuf {
    let page = capture.world().path("page.html");
    let ran = capture.show(&[
        "html",
        "--with-source",
        "--output",
        page.to_str().expect("temporary folders have plain names"),
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    page
}

/// What other commands say about a capture, for scripts to compare with.
fn expectation(capture: &Capture) -> PathBuf {
    let tree = |by: &str| capture.report(&["--tree", "--by", by]);
    let inverted = |by: &str| capture.report(&["--inverted", "--min", "0", "--by", by]);
    let info = capture.info();
    let frees = (info["options"]["free_stacks"] == "true").then_some("frees");
    let metrics = || ["peak", "leaked", "bytes", "temporary", "cpu"].into_iter().chain(frees);
    let all = |of: &dyn Fn(&str) -> serde_json::Value| {
        metrics().map(|by| (by.to_owned(), of(by))).collect::<serde_json::Map<_, _>>()
    };
    let names = info["mark_names"].as_array().into_iter().flatten();
    let during = names
        .filter(|row| row["regions"] != 0)
        .filter_map(|row| row["name"].as_str())
        .map(|name| (name.to_owned(), capture.report(&["--tree", "--by", "bytes", "--during", name])));
    let functions = capture.report(&["--functions", "--by", "bytes"]);
    let markdown = ["report", "--tree", "--min", "0", "--by", "peak", "--format", "markdown"];
    let copied = capture.show(&markdown);
    assert_eq!(copied.code, 0, "{}", copied.stderr);
    let document = json!({
        "copied": copied.text(),
        "views": views_of(capture),
        "pages": as_markdown(capture, &["pages"]),
        "frees": frees.map(|_| json!({ "rows": capture.json(&["frees"])["rows"] })),
        "function": function_of(capture, &functions),
        "during": during.collect::<serde_json::Map<_, _>>(),
        "info": info,
        "trees": all(&tree),
        "inverted": all(&inverted),
        "functions": functions,
    });
    capture.world().write("expected.json", document.to_string())
}

/// What the command line says of each registered view, as Markdown.
fn views_of(capture: &Capture) -> serde_json::Value {
    let refused = capture.show(&["blocks", "--by", "nothing"]).stderr;
    let words = refused.split_once("[possible values: ").and_then(|(_, rest)| rest.split_once(']'));
    let words = words.unwrap_or_else(|| panic!("it lists them: {refused}")).0;
    let view = |by: &str| (by.to_owned(), as_markdown(capture, &["blocks", "--by", by]));
    words.split(", ").map(view).collect::<serde_json::Map<_, _>>().into()
}

/// What a command shows, with as many rows as a page has; null if it cannot.
fn as_markdown(capture: &Capture, command: &[&str]) -> serde_json::Value {
    let ran = capture.show(&[command, &["--limit", "50", "--format", "markdown"]].concat());
    if ran.code == 0 { json!(ran.text()) } else { json!(null) }
}

/// What other commands say about the blocks of one function: the one with the most, with a name that can be typed.
fn function_of(capture: &Capture, functions: &serde_json::Value) -> serde_json::Value {
    let rows = functions["functions"].as_array().into_iter().flatten();
    let is_plain = |name: &&str| name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let mut names = rows.filter(|row| row["kind"] == "function").filter_map(|row| row["name"].as_str());
    let Some(name) = names.find(is_plain) else { return serde_json::Value::Null };
    let of = |command: &str| {
        let ran = capture.show(&["blocks", "--by", command, "--json", "--filter", name]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        serde_json::from_str::<serde_json::Value>(ran.text()).expect("it is JSON")
    };
    json!({ "name": name, "sizes": of("size")["classes"], "lifetimes": of("lifetime")["map"] })
}

/// Check that the modules work without a page: numbers, trees, layouts, addresses.
#[test]
fn modules_do_what_they_say() {
    run(&World::new(), "pure.mjs", &[]);
}

/// Check that every node of the page's trees has the numbers of the other views, and that a browser shows them.
#[test]
fn page_shows_the_numbers_of_other_views() {
    let program = c("known_allocations").flags(["-O1"]).build();
    let (_, capture) = record(program).with_names().succeed();
    let (page, expected) = (page_of(&capture), expectation(&capture));
    run(capture.world(), "numbers.mjs", &[&page, &expected]);
    browse(capture.world(), &page, &expected);
}

/// Check that a page is useful when there is little to show: tables without rows, small windows, and views that do
/// not use the measure, with units of their own.
#[test]
fn page_is_of_use_where_there_is_little() {
    let (_, capture) = record(c("known_allocations").flags(["-O1"]).build()).with_names().succeed();
    let (_, work) = record(c("known_work").flags(["-O1"]).build()).args(["100"]).with_names().run();
    let totals = record(c("known_allocations").flags(["-O1"]).build()).options(["--aggregate"]).succeed().1;
    let (page, work_page, totals_page) = (page_of(&capture), page_of(&work), page_of(&totals));
    let Some(browser) = browser() else { return skip("edges of a page", "no Chromium is installed") };
    run(capture.world(), "edges.mjs", &[&browser, &page, &work_page, &totals_page]);
}

/// Checks that a page has the numbers of the other commands.
pub(crate) fn page_has_the_numbers(capture: &Capture) {
    run(capture.world(), "numbers.mjs", &[&page_of(capture), &expectation(capture)]);
}

/// Check the same for CPU time, which has no blocks.
#[test]
fn page_shows_processor_time() {
    let (_, capture) = record(c("known_work").flags(["-O1"]).build()).args(["100"]).with_names().run();
    page_has_the_numbers(&capture);
}

/// Check the same for a recording with stacks of frees, which has the measure of who frees, also in a browser.
#[test]
fn page_shows_who_frees() {
    let program = c("passes_blocks").flags(["-O1", "-g"]).build();
    let (_, capture) = record(program).options(["--free-stacks"]).with_names().succeed();
    let trees = capture.report(&["--tree", "--by", "frees"]);
    assert!(trees["nodes"].as_array().is_some_and(|nodes| nodes.iter().any(|node| node["name"] == "take")));
    let (page, expected) = (page_of(&capture), expectation(&capture));
    run(capture.world(), "numbers.mjs", &[&page, &expected]);
    browse(capture.world(), &page, &expected);
}

/// Check the same for threads that free each other's blocks, and for processes that fork, also in a browser.
#[test]
fn page_shows_threads_and_processes() {
    let recorded = |program: PathBuf| record(program).args(["4", "500"]).with_names().run().1;
    page_has_the_numbers(&recorded(c("frees_everything").flags(["-O2"]).build()));
    let capture = recorded(c("forks_often").build());
    let (page, expected) = (page_of(&capture), expectation(&capture));
    run(capture.world(), "numbers.mjs", &[&page, &expected]);
    browse(capture.world(), &page, &expected);
}

/// Check that a page of two captures has the numbers of `diff`, node by node and stack by stack, and that a browser
/// shows them: for two versions of a program in which one function keeps more, one less, one as much, one is gone,
/// one is new, and one has other lines.
#[test]
fn page_of_two_captures_shows_what_has_changed() {
    let (older, newer) = two_versions();
    browse_difference(&older, &newer, None);
}

/// Makes a browser examine what changed from one capture to another, in a page or at an address.
pub(crate) fn browse_difference(older: &Capture, newer: &Capture, address: Option<&str>) {
    let page = newer.world().path("page.html");
    let older_file = older.file().to_str().expect("temporary folders have plain names");
    let made = newer.show(&["html", "-o", page.to_str().expect("and so have these"), older_file]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let Some(browser) = browser() else { return skip("pages of two captures", "no Chromium is installed") };
    let pictures = newer.world().path("pictures");
    std::fs::create_dir_all(&pictures).expect("the folder is ours");
    let expected = difference(older, newer);
    let mut arguments = vec![browser.as_path(), &page, &expected, &pictures];
    arguments.extend(address.map(Path::new));
    run(newer.world(), "compared.mjs", &arguments);
}

/// Captures of two versions of a program, `older.memprof` and `newer.memprof`.
pub(crate) fn two_versions() -> (Capture, Capture) {
    let program = c("comes_in_two_versions").named("app").flags(["-O1"]);
    let recorded = |program: PathBuf, name: &str| record(program).with_names().succeed().1.renamed(name);
    let older = recorded(program.build(), "older.memprof");
    (older, recorded(program.flags(["-DNEWER"]).build(), "newer.memprof"))
}

/// Check that a page of several captures has the sums of `report`, node by node, also of two on request, and that one of
/// labels compares what `diff` compares.
#[test]
fn page_of_several_captures_has_their_sums() {
    let (older, newer) = two_versions();
    let labelled = |flags: &[&str], label: &str| {
        let program = c("comes_in_two_versions").named("app").flags(["-O1"]).flags(flags.iter().copied());
        record(program.build()).options(["--label", label]).with_names().succeed().1
    };
    let (first, last) = (labelled(&[], "version=1"), labelled(&["-DNEWER"], "version=2"));
    let plain = |path: &Path| path.to_str().expect("temporary folders have plain names").to_owned();
    let files = [&older, &newer, &first].map(|capture| plain(capture.file()));
    let world = last.world();
    let shown = |command: &[&str], files: &[String]| {
        let ran = last.show(&[command, &files.iter().map(String::as_str).collect::<Vec<_>>()].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran
    };
    let json = |ran: &Ran| serde_json::from_str::<serde_json::Value>(ran.text()).expect("it is JSON");
    for (others, options) in [(&files[..], &[][..]), (&files[2..], &["--together"])] {
        let page = world.path(&format!("{}.html", others.len()));
        shown(&[&["html", "-o", &plain(&page)], options].concat(), others);
        let versions = world.path("versions.html");
        let labels = ["--from", "version=1", "--to", "version=2"];
        shown(&[&["html", "--force", "-o", &plain(&versions)], &labels[..]].concat(), others);
        let trees = ["peak", "leaked", "bytes", "temporary"]
            .map(|by| (by.to_owned(), json(&shown(&["report", "--tree", "--json", "--by", by], others))));
        let mut expected: serde_json::Map<_, _> = trees.into_iter().collect();
        let compared = shown(&[&["diff", "--json"], &labels[..]].concat(), others);
        expected.insert("compared".into(), json(&compared));
        let file = world.write("together.json", serde_json::Value::Object(expected).to_string());
        let program = browser();
        let arguments = [Some(page.as_path()), Some(&versions), Some(&file), program.as_deref()];
        run(world, "together.mjs", &arguments.into_iter().flatten().collect::<Vec<_>>());
    }
}

/// What `diff` and `info` say about two captures.
fn difference(older: &Capture, newer: &Capture) -> PathBuf {
    let older_file = older.file().to_str().expect("temporary folders have plain names");
    let diff = |by: &str, shape: &[&str]| {
        let ran = newer.show(&[&["diff", "--json", "--by", by], shape, &[older_file]].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        serde_json::from_str::<serde_json::Value>(ran.text()).expect("it is JSON")
    };
    let all = |shape: &[&str]| {
        let metrics = ["peak", "leaked", "bytes", "temporary"];
        metrics.map(|by| (by.to_owned(), diff(by, shape))).into_iter().collect::<serde_json::Map<_, _>>()
    };
    let document = json!({
        "info": newer.info(),
        "before": older.info(),
        "trees": all(&["--tree"]),
        "rows": all(&[]),
    });
    newer.world().write("difference.json", document.to_string())
}

/// What `retained` says about each scan of a capture.
fn retained(capture: &Capture) -> PathBuf {
    let scans = capture.info()["scans"].as_array().map_or(0, Vec::len);
    let said = |number: usize, form: &str| {
        let ran = capture.show(&["retained", form, "--scan", &number.to_string()]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.text().to_owned()
    };
    let of = |number| {
        let document: serde_json::Value = serde_json::from_str(&said(number, "--json")).expect("it is JSON");
        json!({ "json": document, "tree": said(number, "--tree"), "tables": said(number, "--limit=100000") })
    };
    let all: Vec<_> = (1..=scans).map(of).collect();
    capture.world().write("retained.json", json!(all).to_string())
}

/// Makes a browser examine what scans found, in a page or at an address.
pub(crate) fn browse_retained(capture: &Capture, page: &Path) {
    let Some(browser) = browser() else { return skip("scans in a browser", "no Chromium is installed") };
    let pictures = capture.world().path("pictures");
    std::fs::create_dir_all(&pictures).expect("the folder is ours");
    run(capture.world(), "kept.mjs", &[&browser, page, &retained(capture), &pictures]);
}

/// Makes a browser examine `scans` scans of one process, in a page and at a server's address.
pub(crate) fn browse_many_scans(capture: &Capture, scans: usize, address: &str) {
    let Some(browser) = browser() else { return skip("many scans", "no Chromium is installed") };
    let (page, scans) = (page_of(capture), scans.to_string());
    run(capture.world(), "many_scans.mjs", &[&browser, &page, Path::new(&scans), Path::new(address)]);
}

/// A recording of two scanned processes: a child, of which not all blocks are known, and its parent.
pub(crate) fn scanned() -> Capture {
    let world = World::new();
    let page = Page::new(&world);
    page.go();
    let recording = record(c("ends_with_blocks").flags(["-O1"]).build()).world(world);
    let options = recording.options(["--scan-at-exit"]).arg(&page.path).arg("child");
    options.with_names().run().1
}

/// Check that the results of scans have the numbers of `retained`, stack by stack, root by root and row by row of the
/// tree, and that a browser shows them: for a program with an unreachable cycle, and for two processes, one of which
/// has blocks that are not known.
#[test]
fn page_shows_what_keeps_memory() {
    let shared = record(cpp("shares_in_cycles").flags(["-O1"]).build()).options(["--scan-at-exit"]);
    for capture in [shared.with_names().succeed().1, scanned()] {
        let page = page_of(&capture);
        run(capture.world(), "retained.mjs", &[&page, &retained(&capture)]);
        browse_retained(&capture, &page);
    }
}

/// Check that regions of programs have what was allocated in any of their instances, as `report --during` says, and
/// that a browser shows it when a mark is chosen.
#[test]
fn page_shows_what_was_allocated_in_regions() {
    let (_, capture) = record(c("works_in_regions").with_api().flags(["-O1"]).build()).with_names().succeed();
    let (page, expected) = (page_of(&capture), expectation(&capture));
    run(capture.world(), "numbers.mjs", &[&page, &expected]);
    browse(capture.world(), &page, &expected);
    let rows: Vec<_> = capture.info()["mark_names"].as_array().cloned().unwrap_or_default();
    let numbers = rows.iter().map(|row| {
        let number = |field: &str| row[field].as_u64().unwrap_or(u64::MAX);
        (row["name"].as_str(), number("regions"), number("instants"), number("unfinished"))
    });
    let expected = [(Some("pass"), 3, 0, 0), (Some("done"), 0, 1, 0), (Some("rest"), 1, 0, 1)];
    assert_eq!(numbers.collect::<Vec<_>>(), expected);
    let [min, mean, max] = ["min_ns", "mean_ns", "max_ns"].map(|field| rows[0][field].as_u64().unwrap_or(0));
    assert!(0 < min && min <= mean && mean <= max, "{rows:?}");
    let during = |name: &str| capture.report(&["--by", "bytes", "--during", name])["total"].clone();
    let of_pass = during("pass");
    assert_eq!((&of_pass["allocations"], &of_pass["bytes"]), (&json!(6), &json!(6021)), "{of_pass}");
    assert_eq!((&of_pass["leaked_blocks"], &of_pass["temporary"]), (&json!(3), &json!(3)), "{of_pass}");
    assert_eq!(during("rest")["bytes"], 5007);
    // Compiled so that its allocations are left out: nothing was allocated in its region.
    let idle = c("marks_in_order").with_api().flags(["-O2", "-fbuiltin"]).build();
    let (_, idle) = record(idle).with_names().succeed();
    assert_eq!(idle.report(&["--by", "bytes", "--during", "region"])["total"]["bytes"], 0);
    page_has_the_numbers(&idle);
}

/// Check that a browser shows the kernel's numbers for the processes' memory, resident, proportional and in swap, and
/// what samples miss.
#[test]
fn page_shows_what_the_kernel_says_of_memory() {
    let world = World::new();
    let file = world.path("it.memprof");
    write_counters(&file);
    let capture = Capture::new(world, file);
    let (page, expected) = (page_of(&capture), expectation(&capture));
    run(capture.world(), "numbers.mjs", &[&page, &expected]);
    let Some(browser) = browser() else { return skip("tracks of memory", "no Chromium is installed") };
    run(capture.world(), "tracks.mjs", &[&browser, &page]);
}

/// Makes a browser examine the call graph in a page, or at a server's address; with Graphviz or without.
pub(crate) fn browse_drawing(capture: &Capture, page: &str, has_dot: bool, is_hostile: bool) {
    let Some(browser) = browser() else { return skip("drawings in a browser", "no Chromium is installed") };
    let reports = ["peak", "leaked", "bytes", "temporary"].map(|by| {
        let mut report = capture.report(&["--functions", "--by", by, "--min", "0"]);
        // The total of the metric, by the names that rows have.
        let [blocks, bytes] = match by {
            "bytes" => ["allocations", "bytes"],
            "temporary" => ["temporary", "temporary_bytes"],
            "peak" => ["peak_blocks", "peak_bytes"],
            _ => ["leaked_blocks", "leaked_bytes"],
        };
        report["total"] = json!({ "blocks": report["total"][blocks], "bytes": report["total"][bytes] });
        (by.to_owned(), report)
    });
    let reports: serde_json::Map<_, _> = reports.into_iter().collect();
    let expected = json!({ "has_dot": has_dot, "is_hostile": is_hostile, "reports": reports });
    let expected = capture.world().write("drawn.json", expected.to_string());
    let pictures = capture.world().path("pictures");
    std::fs::create_dir_all(&pictures).expect("the folder is ours");
    run(capture.world(), "drawn.mjs", &[&browser, Path::new(page), &expected, &pictures]);
}

/// Check that a page has the drawing of who held the peak, with the numbers of the report, and that without Graphviz
/// it says how to get it; either way it is the same each time.
#[test]
fn page_has_a_drawing_of_the_call_graph() {
    let (_, capture) = record(c("known_allocations").flags(["-O1"]).build()).with_names().succeed();
    let world = capture.world();
    let file = capture.file().to_str().expect("temporary folders have plain names");
    let without = || {
        let mut without = world.tool(["html", "-o", "without.html", "--force", file]);
        without.current_dir(world.folder()).env("PATH", world.folder());
        let ran = wait(world, without);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        std::fs::read(world.path("without.html")).expect("it was written")
    };
    assert!(without() == without(), "it says the same each time");
    let page = world.path("without.html");
    browse_drawing(&capture, page.to_str().expect("and so have these"), false, false);
    if installed("dot").is_none() {
        return skip("dot", "not installed, so no graph was drawn");
    }
    let page = page_of(&capture);
    browse_drawing(&capture, page.to_str().expect("and so have these"), true, false);
}

/// Check that nothing in a capture is taken for markup or code, whatever its names are.
#[test]
fn hostile_names_are_only_text() {
    let world = World::new();
    let file = world.path("it.memprof");
    write_hostile(&file);
    let capture = Capture::new(world, file);
    let page = page_of(&capture);
    let text = std::fs::read_to_string(&page).expect("pages are text");
    assert!(HOSTILE.iter().all(|name| !text.contains(name)));
    let expected = expectation(&capture);
    run(capture.world(), "numbers.mjs", &[&page, &expected]);
    run(capture.world(), "retained.mjs", &[&page, &retained(&capture)]);
    browse(capture.world(), &page, &expected);
    browse_retained(&capture, &page);
    if installed("dot").is_some() {
        browse_drawing(&capture, page.to_str().expect("temporary folders have plain names"), true, true);
    }
}

/// Check that a capture in which nothing happened has a page.
#[test]
fn empty_capture_has_a_page() {
    let world = World::new();
    let file = world.path("it.memprof");
    let mut writer = Writer::create(&file, Create::New, &Metadata::default()).expect("the folder is ours");
    writer.flush().and_then(|()| writer.finish(&Summary::default())).expect("the disk has room");
    let capture = Capture::new(world, file);
    let (page, expected) = (page_of(&capture), expectation(&capture));
    run(capture.world(), "numbers.mjs", &[&page, &expected]);
    browse(capture.world(), &page, &expected);
}

/// Check that a page is the same to the byte each time it is written: with many threads and processes, with stacks
/// that hold equal amounts, with regions, with scans, with two captures.
#[test]
fn page_is_the_same_each_time() {
    let programs = [
        (c("frees_everything").flags(["-O2"]), "4"),
        (c("forks_often"), "3"),
        (c("works_in_regions").with_api().flags(["-O1"]), "1"),
    ];
    for (program, argument) in programs {
        let (_, capture) = record(program.build()).args([argument, "300"]).with_names().run();
        assert_written_alike(&capture, &[]);
    }
    assert_written_alike(&scanned(), &[]);
    let (older, newer) = two_versions();
    assert_written_alike(&newer, &[older.file().to_str().expect("temporary folders have plain names")]);
}

/// Checks that a page of a capture, compared with an older one if given, is written the same each time.
fn assert_written_alike(capture: &Capture, older: &[&str]) {
    let page = || {
        let ran = capture.show(&[&["html", "-o", "-"], older].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout
    };
    let first = page();
    for _ in 0..3 {
        assert!(page() == first, "{} has another page each time", capture.file().display());
    }
}

/// Check that only the owner may read a page, that it replaces nothing unasked, and goes to standard output on
/// request.
#[test]
fn page_is_the_owners() {
    use std::os::unix::fs::PermissionsExt;
    let (_, capture) = record(c("allocates_once").build()).succeed();
    let page = capture.file().with_extension("html");
    let first = capture.show(&["html"]);
    assert_eq!(
        (first.code, page.metadata().map(|meta| meta.permissions().mode() & 0o777).ok()),
        (0, Some(0o600))
    );
    let again = capture.show(&["html"]);
    assert!(again.code == 2 && again.stderr.contains("--force"), "{}", again.stderr);
    assert_eq!(capture.show(&["html", "--force"]).code, 0);
    let printed = capture.show(&["html", "-o", "-"]);
    assert!(printed.code == 0 && printed.text().starts_with("<!DOCTYPE html>"));
    let refused = capture.show(&["html", "--source-url", "javascript:{path}"]);
    assert!(refused.code == 2 && refused.stderr.contains("vscode://"), "{}", refused.stderr);
}

/// One process that allocates for 10 ms, about which the kernel reports more every 2 ms, and whose samples do not
/// cover everything.
fn write_counters(file: &Path) {
    let mut writer = Writer::create(file, Create::New, &Metadata::default()).expect("the folder is ours");
    let mut write = || -> Result<(), capture::Error> {
        let process = ProcessId(0);
        let end = Some(ProcessEnd { ended: Ended::Exited(0), time: 10_000_000 });
        writer.process(Process { pid: 7, name: "app".to_owned(), end, ..Process::default() })?;
        writer.thread(Thread { process, tid: 7, name: "app".to_owned() })?;
        let event = |time, action| Event { time, thread: ThreadId(0), action };
        writer.event(event(0, Action::ProcessStart { process, fork: 0 }))?;
        for step in 1..=5 {
            let time = 2_000_000 * step;
            for (kind, each) in
                [(CounterKind::Rss, 4 << 20), (CounterKind::Pss, 3 << 20), (CounterKind::Swap, 1 << 20)]
            {
                writer.counter(Counter {
                    time,
                    process: Some(process),
                    kind,
                    instance: 0,
                    value: each * step,
                })?;
            }
            let stack = NodeId::ROOT;
            writer
                .event(event(time, Action::Alloc { address: 16 * step, size: 100, alignment: 0, stack }))?;
        }
        writer.event(event(10_000_000, Action::ProcessEnd { process }))?;
        writer.flush()
    };
    write().expect("the disk has room");
    let refused = "a quarter of the work has no samples".to_owned();
    let cpu = CpuSummary {
        event: "cpu-clock".to_owned(),
        samples: 100,
        truncated: 30,
        refused,
        ..CpuSummary::default()
    };
    writer
        .finish(&Summary { duration_ns: 10_000_000, cpu, ..Summary::default() })
        .expect("the disk has room");
}

/// One process whose command, threads, files, functions and variables all have hostile names.
fn write_hostile(file: &Path) {
    let metadata = Metadata { command: HOSTILE.map(str::to_owned).to_vec(), ..Metadata::default() };
    let mut writer = Writer::create(file, Create::New, &metadata).expect("the folder is ours");
    let mut write = || -> Result<(), capture::Error> {
        let process = ProcessId(0);
        let name = HOSTILE[1].to_owned();
        let end = Some(ProcessEnd { ended: Ended::Exited(0), time: 9_000_000 });
        writer.process(Process { pid: 7, name: name.clone(), end, ..Process::default() })?;
        writer.thread(Thread { process, tid: 7, name: name.clone() })?;
        writer.thread(Thread { process, tid: 8, name })?;
        let mut node = NodeId::ROOT;
        for (index, name) in HOSTILE.into_iter().enumerate() {
            let text = StringId::from_index(index);
            writer.string(name)?;
            writer.frame(Frame::Code { module: None, address: index as u64, exact: false })?;
            let frame = FrameId::from_index(index);
            node = writer.node(node, frame)?;
            let names = vec![SourceFrame { function: Some(text), file: Some(text), line: Some(1) }];
            writer.symbolized(Symbolized { frame, names, ..Symbolized::default() })?;
        }
        let event = |time, thread, action| Event { time, thread: ThreadId(thread), action };
        writer.event(event(1_000_000, 0, Action::ProcessStart { process, fork: 0 }))?;
        for address in [16, 160] {
            writer.event(event(
                2_000_000,
                0,
                Action::Alloc { address, size: 100, alignment: 0, stack: node },
            ))?;
        }
        // Its variables, in a file with such a name, refer to one of the blocks.
        let kind = AreaKind::Variables;
        let area = Area { start: 0x9000, end: 0xa000, kind, tid: 0, name: StringId(1), base: 0 };
        let scan = Scan { process, time: 2_500_000, areas: vec![area], ..Scan::default() };
        let scan = writer.scan(&scan)?;
        writer.pointers(scan, &[Pointer { from: 0x9008, to: 16 }])?;
        writer.objects(scan, &[Object { at: 16, class: StringId(1) }])?;
        writer.event(event(3_000_000, 1, Action::Free { address: 16, stack: NodeId::ROOT }))?;
        writer.event(event(9_000_000, 0, Action::ProcessEnd { process }))?;
        writer.flush()
    };
    write().expect("the disk has room");
    let remarks = HOSTILE.map(str::to_owned).to_vec();
    writer
        .finish(&Summary { duration_ns: 9_000_000, remarks, ..Summary::default() })
        .expect("the disk has room");
}
