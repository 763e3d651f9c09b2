//! Kernel tracepoints beside the allocations.

use crate::harness::{Capture, Ran, World, c, product, skip, wait};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// A command that runs the product where the kernel's tracepoints can be found: in a mount namespace of its own,
/// unless they can be found anyway.
fn tool(world: &World) -> Command {
    if Path::new("/sys/kernel/tracing/events").is_dir() {
        return world.command(product());
    }
    let mut command = world.command("unshare");
    command.args(["--mount", "sh", "-c", "mount -t tracefs nodev /sys/kernel/tracing && exec \"$@\"", "sh"]);
    command.arg(product());
    command
}

/// Whether `doctor` finds that tracepoints can be recorded there.
fn can_record() -> bool {
    let world = World::new();
    let mut command = tool(&world);
    command.arg("doctor");
    let ran = wait(&world, command);
    let can = ran.text().contains("run --trace records them");
    if !can {
        skip("tracepoints", "tracefs cannot be mounted, or the kernel does not permit them");
    }
    can
}

/// Records with these options.
fn record(options: &[&str]) -> Capture {
    let world = World::new();
    let file = world.path("it.memprof");
    let mut command = tool(&world);
    command.args(["run", "--quiet", "--output"]).arg(&file).args(options);
    command.arg("--").arg(c("opens_files").build());
    let ran = wait(&world, command);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    Capture::new(world, file)
}

fn rows(report: &Value) -> &[Value] {
    report["rows"].as_array().expect("a list")
}

/// Hits and their sizes over all stacks with this function.
fn hits(report: &Value, function: &str) -> (u64, u64) {
    let has = |row: &&Value| {
        row["stack"].as_array().into_iter().flatten().any(|frame| frame["function"] == function)
    };
    let number = |row: &Value, field: &str| row[field].as_u64().expect("a number");
    let of = rows(report).iter().filter(has);
    of.fold((0, 0), |(hits, size), row| (hits + number(row, "hits"), size + number(row, "hit_size")))
}

/// Check that each hit is recorded, with its stack and the number that is added up, for the requested tracepoint; and
/// that allocations are recorded beside them.
#[test]
fn hits_of_tracepoints_have_stacks_and_sizes() {
    if !can_record() {
        return;
    }
    let capture = record(&[
        "--no-cpu",
        "--trace",
        "syscalls:sys_enter_openat",
        "--trace",
        "syscalls:sys_exit_read/ret",
    ]);
    let by = |tracepoint: &[&str]| capture.report(&[&["--by", "traced"], tracepoint].concat());
    let opened = by(&[]);
    assert_eq!([hits(&opened, "often"), hits(&opened, "seldom")], [(30, 0), (10, 0)], "{opened:#}");
    let read = by(&["--tracepoint", "syscalls:sys_exit_read"]);
    assert_eq!([hits(&read, "often"), hits(&read, "seldom")], [(30, 3000), (10, 10_000)], "{read:#}");
    assert_eq!(capture.row_of_size(123_456).number("allocations"), 1);
    let info = capture.info();
    let all = &info["trace"]["tracepoints"];
    assert_eq!(
        (&all[0]["name"], &all[1]["name"]),
        (&"syscalls:sys_enter_openat".into(), &"syscalls:sys_exit_read".into())
    );
    assert!(all[0]["hits"].as_u64() >= Some(40) && all[1]["sum"].as_u64() >= Some(13_000), "{all:#}");
    assert_eq!((capture.number("/trace/lost"), capture.number("/trace/hits")), (0, sum_of(all, "hits")));
    // The track contains each of them once.
    let Ran { stdout, .. } = capture.show(&["timeline", "--json"]);
    let timeline: Value = serde_json::from_slice(&stdout).expect("it is JSON");
    let tracks = timeline["tracks"].as_array().expect("a list");
    for tracepoint in all.as_array().expect("a list") {
        let mut of_it = tracks.iter().filter(|track| track["name"] == tracepoint["name"]);
        let counts = of_it.next().expect("it has a track")["counts"].as_array().expect("a list");
        let sum = counts.iter().filter_map(Value::as_u64).sum::<u64>();
        assert_eq!((Some(sum), of_it.count()), (tracepoint["hits"].as_u64(), 0), "{tracepoint:#}");
    }
    // The web report uses the first one as its measure.
    crate::web::page_has_the_numbers(&capture);
    // Each of them separately.
    let Ran { stdout, .. } = capture.show(&["dump", "--hits", "--json"]);
    let lines = String::from_utf8(stdout).expect("it is text");
    assert_eq!(lines.lines().skip(1).count() as u64, capture.number("/trace/hits"));
}

fn sum_of(rows: &Value, field: &str) -> u64 {
    rows.as_array().expect("a list").iter().filter_map(|row| row[field].as_u64()).sum()
}

/// Check that a tracepoint or a field that the kernel does not have is reported before anything is started.
#[test]
fn unknown_tracepoints_are_refused() {
    if !can_record() {
        return;
    }
    for (event, part) in [
        ("syscalls:sys_enter_opennat", "this kernel has no tracepoint syscalls:sys_enter_opennat: "),
        (
            "syscalls:sys_exit_read/size",
            "syscalls:sys_exit_read has no numeric field `size`: it has __syscall_nr, ret",
        ),
    ] {
        let world = World::new();
        let file = world.path("it.memprof");
        let mut command = tool(&world);
        command
            .args(["run", "--output"])
            .arg(&file)
            .args(["--trace", event, "--"])
            .arg(c("opens_files").build());
        let ran = wait(&world, command);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
        assert!(!file.exists(), "nothing was recorded");
    }
}

/// Check that if tracepoints are refused, the rest is recorded, with one line that says what to do.
#[test]
fn refused_tracepoints_do_no_harm() {
    let world = World::new();
    let file = world.path("it.memprof");
    let mut command = world.command(c("refuses_perf").build());
    command.arg(product()).args(["run", "--no-cpu", "--no-symbolize", "--output"]).arg(&file);
    command.args(["--trace", "sched:sched_process_exec", "--"]).arg(c("allocates_once").build());
    let ran = wait(&world, command);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let told = ran.stderr.lines().filter(|line| line.contains("tracepoints not recorded"));
    assert_eq!(told.count(), 1, "{}", ran.stderr);
    let mut view = world.tool(["info"]);
    view.arg(&file);
    let ran = wait(&world, view);
    assert!(ran.text().contains("tracepoints not recorded"), "{}", ran.text());
}
