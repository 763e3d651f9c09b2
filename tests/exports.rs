//! Other programs open our exports, and find our numbers in them.

use crate::harness::{
    Capture, Ran, World, c, can_sample, copy_program, cpp, installed, record, skip, validator, wait,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A capture with names, and with a value for each metric.
fn recorded() -> Capture {
    let (_, capture) = record(c("mixed_calls").flags(["-O2"]).build()).with_names().succeed();
    capture
}

/// Exports a capture to a file.
fn export(capture: &Capture, format: &str, options: &[&str]) -> PathBuf {
    let file = capture.world().path(&format!("it.{format}"));
    let name = file.to_str().expect("a temporary folder has a plain name");
    let ran = capture.show(&[&["export", "--force", "--format", format, "--output", name], options].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    file
}

/// The output of a consumer that must accept the file; none if it is not installed.
fn opened(capture: &Capture, program: &str, arguments: &[&str], file: &PathBuf) -> Option<String> {
    let ran = run(capture, program, arguments, file)?;
    Some(ran.text().to_string())
}

fn run(capture: &Capture, program: &str, arguments: &[&str], file: &PathBuf) -> Option<Ran> {
    if !Path::new(program).is_absolute() && installed(program).is_none() {
        skip(program, "not installed, so what is exported for it was not opened");
        return None;
    }
    let mut command: Command = capture.world().command(program);
    command.args(arguments).arg(file);
    let ran = wait(capture.world(), command);
    assert_eq!(ran.code, 0, "{program}: {}", ran.stderr);
    Some(ran)
}

fn total(capture: &Capture, field: &str) -> i64 {
    let info = capture.info();
    info["totals"][field].as_i64().unwrap_or_else(|| panic!("{field} of {}", info["totals"]))
}

/// Check that Go's pprof reads the profile, and that the values of its samples add up to our totals.
#[test]
fn pprof_finds_our_totals() {
    let capture = recorded();
    let file = export(&capture, "pprof", &[]);
    let Some(raw) = opened(&capture, "go", &["tool", "pprof", "-raw"], &file) else { return };
    let samples = raw.split_once("Samples:\n").expect("raw profiles have samples").1;
    let (kinds, rows) = samples.split_once('\n').expect("a line of types");
    let mut sums = vec![0; kinds.split_whitespace().count()];
    for row in rows.lines().take_while(|line| *line != "Locations") {
        // Labels are on lines of their own.
        let Some((values, _)) = row
            .split_once(": ")
            .filter(|(values, _)| values.trim().starts_with(|c: char| c.is_ascii_digit()))
        else {
            continue;
        };
        for (sum, value) in sums.iter_mut().zip(values.split_whitespace()) {
            *sum += value.parse::<i64>().expect("values are numbers");
        }
    }
    let of = |kind: &str| {
        let place = kinds.split_whitespace().position(|word| word.split('[').next() == Some(kind));
        sums[place.unwrap_or_else(|| panic!("{kind} in {kinds}"))]
    };
    for (kind, field) in [
        ("alloc_objects/count", "allocations"),
        ("alloc_space/bytes", "allocated_bytes"),
        ("peak_space/bytes", "peak_bytes"),
        ("peak_objects/count", "peak_blocks"),
        ("leaked_space/bytes", "leaked_bytes"),
        ("temporary_objects/count", "temporary"),
    ] {
        assert_eq!(of(kind), total(&capture, field), "{kind}");
    }
    assert!(raw.contains("main"), "functions have names");
}

/// Check that callgrind's annotator reads the file, names functions, and prints our totals.
#[test]
fn callgrind_annotate_finds_our_totals() {
    let capture = recorded();
    let file = export(&capture, "callgrind", &[]);
    let Some(text) = opened(&capture, "callgrind_annotate", &["--tree=both", "--inclusive=yes"], &file)
    else {
        return;
    };
    let totals = text.lines().find(|line| line.ends_with("PROGRAM TOTALS")).expect("it prints totals");
    let numbers: Vec<i64> =
        totals.split_whitespace().filter_map(|word| word.replace(',', "").parse().ok()).collect();
    let expected =
        ["peak_bytes", "peak_blocks", "leaked_bytes", "leaked_blocks"].map(|field| total(&capture, field));
    assert_eq!(numbers[..4], expected, "{totals}");
    assert!(text.contains(":main"), "{text}");
}

/// Check that Graphviz lays out the graph, and that the functions are in its drawing.
#[test]
fn graphviz_draws_the_graph() {
    let capture = recorded();
    for metric in ["peak", "allocations", "temporary"] {
        let file = export(&capture, "dot", &["--by", metric, "--min", "0%"]);
        let Some(svg) = opened(&capture, "dot", &["-Tsvg"], &file) else { return };
        assert!(svg.contains("<svg") && svg.contains(">main<"), "{svg}");
    }
}

/// Check that a graph is drawn directly if the file is to hold a drawing, and that without Graphviz an error says so
/// and no file is left.
#[test]
fn graphs_are_drawn_where_graphviz_is_installed() {
    let capture = recorded();
    let export = ["export", "--format", "dot", "--min", "0%", "--output", "drawn.svg"];
    if installed("dot").is_some() {
        let ran = capture.show(&export);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let svg = std::fs::read_to_string(capture.world().path("drawn.svg")).expect("it was written");
        assert!(svg.contains("<svg") && svg.contains(">main<"), "{svg}");
        std::fs::remove_file(capture.world().path("drawn.svg")).expect("it is ours");
    } else {
        skip("dot", "not installed, so no graph was drawn");
    }
    let mut without = capture.world().tool(export);
    without.arg(capture.file()).current_dir(capture.world().folder()).env("PATH", capture.world().folder());
    let ran = wait(capture.world(), without);
    assert!(
        ran.code != 0 && ran.stderr.contains("Graphviz") && ran.stderr.contains(".dot"),
        "{}",
        ran.stderr
    );
    assert!(!capture.world().path("drawn.svg").exists());
}

/// Check that massif's printer draws the timeline, and that its peak is ours.
#[test]
fn ms_print_finds_our_peak() {
    let capture = recorded();
    let file = export(&capture, "massif", &[]);
    let Some(text) = opened(&capture, "ms_print", &[], &file) else { return };
    let peak =
        text.lines().find_map(|line| line.split_once("(heap allocation functions)")).expect("a tree").0;
    assert!(peak.trim_end().ends_with("100.00%") || peak.contains("100.00%"), "{peak}");
    let expected = viewed(total(&capture, "peak_bytes"));
    assert!(peak.contains(&format!("({expected}B)")), "{peak}, not {expected}");
    assert!(text.contains("(peak)"), "{text}");
}

/// A number with its digits in groups of three.
fn viewed(number: i64) -> String {
    let digits = number.to_string();
    let place = |(place, digit): (usize, char)| {
        let comma = (place > 0 && (digits.len() - place).is_multiple_of(3)).then_some(',');
        comma.into_iter().chain([digit])
    };
    digits.chars().enumerate().flat_map(place).collect()
}

/// Check that heaptrack prints our number of allocations, and our bytes at the peak and at the end.
#[test]
fn heaptrack_print_finds_our_totals() {
    // Long enough for resident memory to be sampled.
    let script = format!("{} && sleep 0.4", c("mixed_calls").flags(["-O2"]).build().display());
    let (_, capture) = record("sh").args(["-c", &script]).with_names().succeed();
    let file = export(&capture, "heaptrack", &[]);
    let Some(text) = opened(&capture, "heaptrack_print", &["--disable-embedded-suppressions"], &file) else {
        return;
    };
    let number = |name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap_or_else(|| panic!("{name} in {text}"));
        line.split_whitespace().next().expect("a number").to_string()
    };
    assert_eq!(number("calls to allocation functions:"), total(&capture, "allocations").to_string());
    assert_eq!(number("peak heap memory consumption:"), decimal(total(&capture, "peak_bytes")));
    assert_eq!(number("total memory leaked:"), decimal(total(&capture, "leaked_bytes")));
    let timeline = capture.show(&["timeline", "--json"]);
    let timeline: Value = serde_json::from_str(timeline.text()).expect("it is JSON");
    let steps = timeline["steps"].as_array().expect("it has steps").iter();
    let resident = steps.filter_map(|step| step["rss_bytes"].as_i64()).max().expect("memory is counted");
    assert_eq!(number("peak RSS (including heaptrack overhead):"), decimal(resident));
    assert!(text.contains("main"), "functions have names: {text}");
}

/// Bytes as heaptrack writes them: two digits after the decimal point, in powers of ten.
fn decimal(bytes: i64) -> String {
    match bytes {
        ..1000 => format!("{bytes}B"),
        1000..1_000_000 => format!("{:.2}K", bytes as f64 / 1e3),
        _ => format!("{:.2}M", bytes as f64 / 1e6),
    }
}

/// Check that Sysprof's own library reads every frame, names every address, and finds as many leaks as we do.
#[test]
fn sysprof_finds_our_totals() {
    let capture = recorded();
    let file = export(&capture, "syscap", &[]);
    if let Some(number) = read_by_sysprof(&capture, &file) {
        assert_eq!(number("allocations"), total(&capture, "allocations"));
        assert_eq!(number("frees"), total(&capture, "frees"));
        assert_eq!(number("leaked"), total(&capture, "leaked_blocks"));
        assert_eq!(number("named"), number("of"));
        assert_eq!(number("held"), total(&capture, "leaked_bytes"), "the heap's counter");
        let mut query = capture.world().tool(["query", "--format", "csv"]);
        query.arg(capture.file()).arg("select max(size, 1) from blocks");
        let ran = wait(capture.world(), query);
        let sizes: Vec<u64> =
            ran.text().lines().skip(1).filter_map(|line| line.trim().parse().ok()).collect();
        assert_eq!(sizes.len() as i64, total(&capture, "allocations"));
        let mut from = 0;
        for up_to in [32, 64, 128, 256, 512, 1024, 4096, 16384, 32768, 65536, 131_072, 262_144, 1_048_576] {
            let expected = sizes.iter().filter(|size| (from + 1..=up_to).contains(*size)).count();
            assert_eq!(number(&format!("up_to_{up_to}")), expected as i64, "{from} to {up_to} bytes");
            from = up_to;
        }
    }
    merged_by_sysprof(&capture, &file);
}

/// Check that Sysprof's own library finds as many temporary allocations as we do if none is resized, which it treats
/// as a free.
#[test]
fn sysprof_finds_our_temporary_allocations() {
    let (_, capture) = record(cpp("allocates_by_rank").flags(["-O1", "-fno-builtin"]).build()).succeed();
    let file = export(&capture, "syscap", &[]);
    if let Some(number) = read_by_sysprof(&capture, &file) {
        assert!(total(&capture, "temporary") > 100);
        assert_eq!(number("temporary"), total(&capture, "temporary"));
    }
}

/// Check that Sysprof's own library reads every sample, names its functions, makes a call graph of them, and finds
/// our marks and counters.
#[test]
fn sysprof_finds_our_samples() {
    if !can_sample() {
        return;
    }
    let capture = worked();
    let file = export(&capture, "syscap", &[]);
    if let Some(number) = read_by_sysprof(&capture, &file) {
        assert_eq!(number("samples"), samples(&capture));
        assert_eq!(number("resolved"), number("addresses"));
        assert_eq!((number("threads"), number("graphs")), (2, 1));
        // The region, the mark, the first event of the process and its end.
        assert_eq!(number("marks"), 4);
        assert!(
            number("longest") > 50_000_000,
            "the region lasts as long as its work: {}",
            number("longest")
        );
        let info = capture.info();
        let points = info["counters"].as_array().expect("a list").iter();
        let points = points.filter(|series| series["counter"] == "rss_bytes");
        let points: i64 = points.map(|series| series["points"].as_i64().unwrap_or(0)).sum();
        assert!(number("counters") > 2 && number("values") > points, "{points} of resident memory");
    }
    merged_by_sysprof(&capture, &file);
}

/// Check that Sysprof accepts what is too long for one of its frames: a command line is cut off, a table of many
/// names is split.
#[test]
fn sysprof_keeps_what_is_long() {
    let fixture = cpp("allocates_by_many").flags(["-O1"]);
    let (_, capture) = record(fixture.build()).arg("x".repeat(40_000)).with_names().succeed();
    let file = export(&capture, "syscap", &[]);
    if let Some(number) = read_by_sysprof(&capture, &file) {
        assert_eq!((number("processes"), number("named")), (1, number("of")));
    }
    merged_by_sysprof(&capture, &file);
}

/// A capture of work in two threads.
fn worked() -> Capture {
    let (_, capture) = record(c("works_in_threads").with_api().build()).with_names().succeed();
    capture
}

/// Number of CPU samples in a capture.
fn samples(capture: &Capture) -> i64 {
    let samples = capture.report(&["--cpu"])["total"]["samples"].as_i64().expect("samples are counted");
    assert!(samples > 10, "{samples} samples");
    samples
}

/// The numbers that Sysprof's library finds in a file, by name; none if the library is not installed.
fn read_by_sysprof(capture: &Capture, file: &Path) -> Option<impl Fn(&str) -> i64> {
    let mut command = capture.world().command(sysprof_reader(capture)?);
    command.arg(file);
    let ran = wait(capture.world(), command);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let words: Vec<String> = ran.text().split_whitespace().map(str::to_owned).collect();
    Some(move |name: &str| {
        let place = words.iter().position(|word| word == name);
        let place = place.unwrap_or_else(|| panic!("{name} in {words:?}"));
        words[place + 1].parse().expect("numbers follow their names")
    })
}

/// Makes Sysprof's program read two copies of a file, and write what it has read.
fn merged_by_sysprof(capture: &Capture, file: &PathBuf) {
    let other = capture.world().path("copy.syscap");
    std::fs::copy(file, &other).expect("there is room for it");
    let length = std::fs::metadata(file).expect("it was written").len();
    let merge = ["--merge", other.to_str().expect("a plain name")];
    if let Some(merged) = run(capture, "sysprof-cli", &merge, file) {
        // One header of 256 bytes for both, and the frames of both.
        assert_eq!(merged.stdout.len() as u64, 2 * (length - 256) + 256, "Sysprof keeps every frame");
    }
}

/// A program that reads with Sysprof's library; none if the library is not installed.
fn sysprof_reader(capture: &Capture) -> Option<PathBuf> {
    let mut flags = capture.world().command("pkg-config");
    let flags = flags.args(["--cflags", "--libs", "sysprof-4"]).output();
    let Some(flags) = flags.ok().filter(|flags| flags.status.success()) else {
        skip("libsysprof-4-dev", "not installed, so what is exported for Sysprof was not opened");
        return None;
    };
    let flags = String::from_utf8(flags.stdout).expect("flags are text");
    Some(c("sysprof_reader").flags(flags.split_whitespace()).build())
}

/// Check that the flame graph is well-formed XML for each metric, and that its script is valid.
#[test]
fn flame_graphs_are_well_formed() {
    let capture = recorded();
    let file = export(&capture, "flamegraph", &["--by", "allocations"]);
    let text = std::fs::read_to_string(&file).expect("it was written");
    assert!(
        !text.contains("http") || text.matches("http").count() == 1,
        "it needs no network: only its name space"
    );
    opened(&capture, "xmllint", &["--noout"], &file);
    let (_, script) = text.split_once("<![CDATA[").expect("a script");
    let script = capture.world().write("script.js", script.split_once("]]>").expect("its end").0);
    opened(&capture, "node", &["--check"], &script);
}

/// Check that the document conforms to speedscope's own schema, and that its profiles add up to our totals.
#[test]
fn speedscope_takes_the_document() {
    let capture = recorded();
    let file = export(&capture, "speedscope", &[]);
    let Some((node, modules)) = installed("node").zip(validator("npm/node_modules")) else {
        return skip("speedscope", "node or scripts/validators is missing, so its schema was not asked");
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("validators/speedscope.mjs");
    let mut command = capture.world().command(node);
    command.arg(script).arg(modules).arg(file);
    let ran = wait(capture.world(), command);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for (profile, field) in [
        ("peak", "peak_bytes"),
        ("leaked", "leaked_bytes"),
        ("allocations", "allocations"),
        ("bytes", "allocated_bytes"),
        ("temporary", "temporary"),
    ] {
        let line = format!("{profile} {}", total(&capture, field));
        assert!(ran.text().lines().any(|printed| printed == line), "{line} in {}", ran.text());
    }
}

/// Check that the Firefox Profiler's own loader accepts the document, and finds our functions and bytes in it.
#[test]
fn firefox_profiler_loads_the_document() {
    let capture = recorded();
    let Some(profiler) = FirefoxProfiler::load(&capture) else { return };
    let functions = profiler.ask(&["thread", "functions", "--strategy", "native-allocations"]);
    assert_eq!(functions["callTreeSummaryStrategy"], "native-allocations");
    let functions = functions["functions"].as_array().expect("a list of functions");
    let bytes = functions.iter().filter_map(|function| function["selfSamples"].as_i64()).sum::<i64>();
    assert_eq!(bytes, total(&capture, "allocated_bytes"));
    assert!(functions.iter().any(|function| function["name"] == "main"), "{functions:?}");
    let meta = profiler.ask(&["profile", "info"]);
    let process = &meta["processes"][0];
    assert_eq!(
        (&process["name"], &process["counters"][0]["name"]),
        (&"mixed_calls".into(), &"malloc".into())
    );
}

/// Check that the Firefox Profiler's own loader finds our samples in the threads that worked, the CPU time that they
/// stand for, our marks, and tracks of the kernel's counters.
#[test]
fn firefox_profiler_finds_our_samples() {
    if !can_sample() {
        return;
    }
    let capture = worked();
    let Some(profiler) = FirefoxProfiler::load(&capture) else { return };
    let list = profiler.ask(&["thread", "list"]);
    let threads = list["threads"].as_array().expect("a list of threads");
    let mut found = 0;
    let (mut markers, mut worked_ms) = (Vec::new(), 0.0);
    for thread in threads {
        let handle = thread["threadHandle"].as_str().expect("threads have handles");
        let of = |what: &str| profiler.ask(&["thread", what, "--thread", handle, "--limit", "0"]);
        let functions = of("functions");
        assert_eq!(functions["callTreeSummaryStrategy"], "timing");
        let functions = functions["functions"].as_array().expect("a list of functions");
        let own: i64 = functions.iter().filter_map(|function| function["selfSamples"].as_i64()).sum();
        let has = |name: &str| functions.iter().any(|function| function["name"] == name);
        assert!(own > 0 && (has("main") || has("helper")), "{functions:?}");
        found += own;
        let of_thread = of("markers");
        let kinds = of_thread["byType"].as_array().cloned().unwrap_or_default();
        markers.extend(kinds.iter().filter_map(|kind| kind["markerName"].as_str().map(str::to_owned)));
        worked_ms += thread["cpuMs"].as_f64().expect("a number");
    }
    assert_eq!((threads.len(), found), (2, samples(&capture)));
    assert!(threads.iter().any(|thread| thread["name"] == "helper"), "{threads:?}");
    // Cycles have no duration. What came before the first sample of a thread does not count there.
    if let Some(expected) = capture.report(&["--cpu"])["total"]["cpu_ns"].as_f64() {
        let expected = expected / 1e6;
        assert!(worked_ms <= expected && worked_ms > expected * 0.8, "{worked_ms} ms of {expected}");
    }
    markers.sort();
    assert_eq!(markers, ["end", "first event", "load", "loaded"]);
    let list = profiler.ask(&["counter", "list"]);
    let counters = list["counters"].as_array().expect("a list of counters");
    let names: Vec<&str> = counters.iter().filter_map(|counter| counter["name"].as_str()).collect();
    assert!(names.contains(&"malloc") && names.contains(&"rss"), "{names:?}");
}

/// The Firefox Profiler's command line with a document.
struct FirefoxProfiler<'a> {
    capture: &'a Capture,
    node: PathBuf,
    program: PathBuf,
    /// The document.
    file: PathBuf,
}

impl<'a> FirefoxProfiler<'a> {
    /// Loads a capture; none if the program is missing.
    fn load(capture: &'a Capture) -> Option<Self> {
        let Some((node, modules)) = installed("node").zip(validator("npm/node_modules")) else {
            skip("profiler-cli", "node or scripts/validators is missing, so it did not load the document");
            return None;
        };
        let program = modules.join("@firefox-devtools/profiler-cli/dist/profiler-cli.js");
        let file = export(capture, "firefox", &[]);
        let profiler = Self { capture, node, program, file };
        let file = profiler.file.to_str().expect("a temporary folder has a plain name");
        // It gives its own process half a second to begin, which on a busy machine is not always enough.
        let load = || {
            let loaded = profiler.run(&["load", file]);
            let is_late = loaded.stderr.contains("did not become ready");
            let pid = loaded.stderr.split("running as pid ").nth(1).filter(|_| is_late);
            let pid = pid.and_then(|rest| rest.split('.').next()?.parse().ok()).and_then(Pid::from_raw);
            // It says itself that nothing else ends that process.
            if let Some(pid) = pid {
                let _ = kill_process(pid, Signal::KILL);
            }
            (!is_late).then_some(loaded)
        };
        let loaded = (0..100).find_map(|_| load()).expect("it begins once in a hundred times");
        assert_eq!(loaded.code, 0, "{}", loaded.stderr);
        Some(profiler)
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let mut command = self.capture.world().command(&self.node);
        command.arg(&self.program).args(arguments);
        // It keeps what was loaded in a process of its own, which is found through a file below home.
        command.env("HOME", self.capture.world().folder());
        wait(self.capture.world(), command)
    }

    fn ask(&self, question: &[&str]) -> Value {
        let ran = self.run(&[question, &["--json"]].concat());
        assert_eq!(ran.code, 0, "{question:?}: {} {}", ran.stderr, self.times());
        serde_json::from_slice(&ran.stdout).expect("it is JSON")
    }

    /// When the document's threads begin and end and have samples: the loader names moments by these.
    fn times(&self) -> String {
        let text = std::fs::read(&self.file).expect("the document is there");
        let document: Value = serde_json::from_slice(&text).expect("it is JSON");
        let of_thread = |thread: &Value| {
            let [from, to, samples] = ["registerTime", "unregisterTime", "samples"].map(|key| &thread[key]);
            format!(
                "from {from} to {to}, samples {}, work {}",
                samples["timeDeltas"], samples["threadCPUDelta"]
            )
        };
        let threads = document["threads"].as_array().expect("a list of threads");
        threads.iter().map(of_thread).collect::<Vec<_>>().join("; ")
    }
}

impl Drop for FirefoxProfiler<'_> {
    /// Ends that process.
    fn drop(&mut self) {
        let stopped = self.run(&["stop"]);
        assert!(stopped.code == 0 || std::thread::panicking(), "{}", stopped.stderr);
    }
}

/// Check that Perfetto's own messages read the trace, and that its last heap profiles are our totals, as a whole and of a
/// function, its samples ours, and its tracks end with what is held.
#[test]
fn perfetto_reads_the_trace() {
    let capture = worked();
    let Some(packages) = installed("python3").and_then(|_| validator("python")) else {
        return skip("perfetto", "python3 or scripts/validators is missing, so no one else read the trace");
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("validators/read_trace.py");
    let mut command = capture.world().command("python3");
    command.env("PYTHONPATH", packages).arg(script).arg(export(&capture, "perfetto", &[]));
    let ran = wait(capture.world(), command);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let read: Value = serde_json::from_str(ran.text()).expect("the script prints JSON");
    let all = &read["heap"]["[Everything]"];
    for (field, own) in [
        ("bytes", "allocated_bytes"),
        ("allocations", "allocations"),
        ("frees", "frees"),
        ("freed", "freed_bytes"),
    ] {
        assert_eq!(all[field], total(&capture, own), "{field}");
    }
    let rows = capture.rows_by("bytes");
    let of_main = rows.iter().filter(|row| row.names().contains(&"main".to_owned()));
    let of_main: u64 = of_main.map(|row| row.number("bytes")).sum();
    assert_eq!(read["heap"]["main"]["bytes"], of_main, "{read:#}");
    assert_eq!(read["samples"].get("[Everything]").unwrap_or(&0.into()), samples(&capture), "{read:#}");
    let held = total(&capture, "allocated_bytes") - total(&capture, "freed_bytes");
    assert_eq!(read["values"]["heap"], held, "{read:#}");
}

/// Check that the sums of formats for scripts are our totals, each read by a reader of that format.
#[test]
fn scripts_find_our_totals() {
    let capture = recorded();
    for (metric, field) in
        [("peak", "peak_bytes"), ("leaked", "leaked_bytes"), ("allocations", "allocations")]
    {
        let folded = std::fs::read_to_string(export(&capture, "folded", &["--metric", metric]))
            .expect("it was written");
        let number =
            |line: &str| line.rsplit(' ').next().and_then(|word| word.parse::<i64>().ok()).expect("a number");
        assert_eq!(folded.lines().map(number).sum::<i64>(), total(&capture, field), "{folded}");
        assert!(folded.lines().all(|line| line.starts_with("mixed_calls;")), "{folded}");
    }
    let folded = export(&capture, "folded", &["--metric", "bytes"]);
    let inferno = validator("bin/inferno-flamegraph");
    let inferno = inferno.as_ref().and_then(|path| path.to_str()).unwrap_or("inferno-flamegraph");
    if let Some(drawn) = opened(&capture, inferno, &[], &folded) {
        assert!(drawn.contains("<svg") && drawn.contains("main"), "inferno draws the stacks");
    }
    let speedscope = std::fs::read(export(&capture, "speedscope", &[])).expect("it was written");
    let speedscope: Value = serde_json::from_slice(&speedscope).expect("it is JSON");
    assert_eq!(speedscope["profiles"][0]["endValue"], total(&capture, "peak_bytes"));
    let csv = export(&capture, "csv", &[]);
    let sum = "import csv, sys; print(sum(int(row['allocated_bytes']) for row in csv.DictReader(open(sys.argv[1], newline=''))))";
    if let Some(sum) = opened(&capture, "python3", &["-c", sum], &csv) {
        assert_eq!(sum.trim().parse(), Ok(total(&capture, "allocated_bytes")));
    }
}

/// Check that another `SQLite` opens the database and finds our totals in it, and that `query` gives the same
/// answers.
#[test]
fn databases_have_our_totals() {
    let capture = recorded();
    let statement = "select sum(size), count(*), sum(iif(end = 'leaked', size, 0)) from blocks";
    let totals =
        ["allocated_bytes", "allocations", "leaked_bytes"].map(|field| total(&capture, field).to_string());
    let mut command = capture.world().tool(["query", "--format", "csv"]);
    command.arg(capture.file()).arg(statement);
    let ran = wait(capture.world(), command);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.text().lines().nth(1).map(str::trim_end), Some(&*totals.join(",")));
    let file = export(&capture, "sqlite", &[]);
    if installed("sqlite3").is_none() {
        return skip("sqlite3", "not installed, so the database was not opened");
    }
    let mut command = capture.world().command("sqlite3");
    command.arg("-readonly").arg(&file).arg(format!("pragma integrity_check; {statement}"));
    let ran = wait(capture.world(), command);
    assert_eq!((ran.code, ran.text()), (0, &*format!("ok\n{}\n", totals.join("|"))), "{}", ran.stderr);
}

/// Check that an export of a part contains that part, and that existing files are not replaced unless requested.
#[test]
fn parts_are_exported_and_files_kept() {
    let capture = recorded();
    let report = capture.report(&["--at", "50%"]);
    let folded =
        std::fs::read_to_string(export(&capture, "folded", &["--at", "50%"])).expect("it was written");
    let ran = capture.show(&["export", "--format", "heaptrack", "--at", "50%"]);
    assert!(ran.code == 2 && ran.stderr.contains("every event"), "{}", ran.stderr);
    let sum: i64 = folded.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<i64>().ok()).sum();
    assert_eq!(Some(sum), report["total"]["live_bytes"].as_i64());
    let kept = capture.world().write("kept", "mine");
    let ran = capture.show(&["export", "--format", "csv", "--output", "kept"]);
    assert!(ran.code == 2 && ran.stderr.contains("--force"), "{}", ran.stderr);
    assert_eq!(std::fs::read(kept).expect("it is there"), b"mine");
    let ran = capture.show(&["export", "--format", "csv", "--limit", "3"]);
    assert!(ran.code == 2 && ran.stderr.contains("drawings"), "{}", ran.stderr);
}

/// Check that a redacted copy of a recording has its numbers, but in no chunk the arguments, the home folder, the
/// user or the host of the recording, nor anything else that was to be hidden.
#[test]
fn redacted_copy_tells_nothing_of_its_user() {
    let world = World::new();
    let home = world.path("home/hedwig");
    std::fs::create_dir_all(home.join("work")).expect("the folder is ours");
    let program = home.join("work/acme_app");
    copy_program(c("keeps_some").flags(["-O1"]).build(), &program);
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("machines have names");
    let recording = record(&program).world(world).with_names().arg("--password=s3cret").env("HOME", &home);
    let (_, capture) = recording.run();
    let copy = capture.world().path("copy.memprof");
    let mut tool =
        capture.world().tool(["export", "--format", "memprof", "--redact", "--hide", "acme", "-o"]);
    tool.arg(&copy).arg(capture.file()).env("HOME", &home).env("USER", "hedwig");
    let ran = wait(capture.world(), tool);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("command line"), "{}", ran.stderr);
    let secrets = ["hedwig", "s3cret", "password", "acme", "/home/"];
    let (before, after) = (unpacked(capture.file()), unpacked(&copy));
    for secret in secrets {
        assert!(before.contains(secret), "the recording has {secret}");
        assert!(!after.contains(secret), "{secret} is left");
    }
    let host = host.trim();
    assert!(host.len() < 4 || !after.contains(&format!("/{host}/")), "{host} is left");
    let info = |file: &PathBuf| {
        let mut tool = capture.world().tool(["info", "--json"]);
        tool.arg(file);
        serde_json::from_slice::<Value>(&wait(capture.world(), tool).stdout).expect("info is JSON")
    };
    // Times are rounded when they are stored, those of the copy twice.
    let numbers = |mut info: Value| {
        info["totals"].as_object_mut().expect("totals are named").remove("peak_time_ns");
        info["totals"].take()
    };
    assert_eq!(numbers(info(&copy)), numbers(capture.info()));
}

/// All chunks of a capture as text, unpacked as its format's document describes.
fn unpacked(file: &Path) -> String {
    let bytes = std::fs::read(file).expect("the capture is there");
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
    let mut text = String::new();
    let mut at = 64;
    while bytes.get(at..at + 4) == Some(b"CHNK") {
        let (raw, stored) = (number(at + 12), number(at + 16));
        let payload = &bytes[at + 40..at + 40 + stored];
        let payload = match bytes[at + 6] {
            0 => payload.to_vec(),
            _ => zstd::bulk::decompress(payload, raw).expect("chunks unpack"),
        };
        text += &String::from_utf8_lossy(&payload);
        at += 40 + stored;
    }
    assert!(at > 64 && at + 40 > bytes.len(), "all chunks were read, not {at} of {} bytes", bytes.len());
    text
}
