//! Ends that wait for a scan: how soon processes go on, how they end, and that each is scanned.

use crate::harness::{
    Capture, Page, Ran, Recording, Running, World, agent, c, product, record, start, start_collector, wait,
    wait_for,
};
use capture::{Reader, Scan};
use rustix::process::{Pid, Signal};
use std::path::Path;
use std::time::{Duration, Instant};

/// However busy the machine is, an end takes no longer than this; a wait in vain takes a minute.
const SOON: Duration = Duration::from_secs(10);

fn scans(capture: &Capture) -> Vec<Scan> {
    Reader::open(capture.file()).expect("it is a capture").into_tables().scans
}

/// A recording that scans processes at their end.
fn scanned(program: &Path) -> Recording {
    record(program).options(["--scan-at-exit", "--no-cpu"])
}

/// Runs it, within a limited time.
fn run_soon(recording: Recording, longest: Duration) -> (Ran, Capture) {
    let started = Instant::now();
    let (ran, capture) = recording.run();
    let took = started.elapsed();
    assert!(took < longest, "{took:?}: {}", ran.stderr);
    (ran, capture)
}

/// Check that a process which ends in a signal handler is scanned and goes on, even if the handler has interrupted an
/// allocation, so that the exit cannot be recorded.
#[test]
fn handlers_end_processes_soon() {
    let program = c("exits_in_a_handler").build();
    for microseconds in [10_000, 11_000, 12_500, 14_100, 16_700] {
        let (ran, capture) = run_soon(scanned(&program).arg(microseconds.to_string()), SOON);
        assert_eq!(ran.code, 7, "{}", ran.stderr);
        assert_eq!(scans(&capture).len(), 1);
    }
}

/// Check that a process ends with the code of the thread that ends it first, though another one wants to end it while
/// it is scanned.
#[test]
fn whoever_ends_a_process_first_says_how() {
    let program = c("exits_twice").flags(["-O1", "-pthread"]).build();
    for _ in 0..20 {
        let (ran, capture) = run_soon(scanned(&program), SOON);
        assert_eq!(ran.code, 4, "{}", ran.stderr);
        let info = capture.info();
        assert_eq!((scans(&capture).len(), &info["remarks"]), (1, &serde_json::json!([])), "{info}");
    }
}

/// Check that many processes which end at once, or one after another, only wait for each other's scans.
#[test]
fn many_ends_take_no_longer() {
    let program = c("keeps_one_in_eight").build();
    for way in ["&", ";"] {
        let script = format!("for i in $(seq 60); do {} {way} done; wait", program.display());
        let (ran, capture) = run_soon(scanned(Path::new("/bin/sh")).args(["-c", &script]), 2 * SOON);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let info = capture.info();
        // The shell, what it forks and what those become: each end counts, but an exec is no end.
        assert!(scans(&capture).len() >= 61, "{} {info}", scans(&capture).len());
        assert_eq!(info["remarks"], serde_json::json!([]), "{info}");
    }
}

/// Check that a process whose only thread waits for the child of its `vfork` is distinguished from one that is gone.
#[test]
fn who_cannot_be_stopped_is_there() {
    let world = World::new();
    let page = Page::new(&world);
    let recording = record(c("waits_for_a_vfork").build()).world(world).arg(&page.path);
    let running = recording.start();
    wait_for("the child", || page.is_done());
    let ran = wait(&recording.world, recording.world.tool(["scan", &page.pid().to_string()]));
    assert!(
        ran.code == 1 && ran.stderr.contains("wait uninterruptibly in the kernel"),
        "{} {}",
        ran.code,
        ran.stderr
    );
    page.stop();
    assert_eq!(running.wait().code, 0);
}

/// Check that threads which wait in system calls do not notice a scan.
#[test]
fn waits_are_not_cut_short_by_scans() {
    let world = World::new();
    let page = Page::new(&world);
    let program = c("waits_in_every_way").flags(["-O1", "-pthread"]).build();
    let recording = record(program).world(world).arg(&page.path);
    let running = recording.start();
    for _ in 0..20 {
        page.wait_for_calls(1, page.calls(0).mallocs_done + 100);
        let ran = wait(&recording.world, recording.world.tool(["scan", &page.pid().to_string()]));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    page.stop();
    let ran = running.wait();
    assert_eq!((ran.code, ran.text().trim()), (5, "0 cut short, 0 too early"), "{}", ran.stderr);
}

/// Check that a forked child is scanned and marked by its own pid.
#[test]
fn children_are_scanned_by_their_pids() {
    let world = World::new();
    let page = Page::new(&world);
    let recording = record(c("serves_by_one_child").build()).world(world).arg(&page.path);
    let running = recording.start();
    wait_for("the child", || page.is_done());
    // The page has the pid of the process that last wrote it.
    let child = page.pid();
    for command in [&["scan"][..], &["mark"]] {
        let pid = child.to_string();
        let name: &[&str] = if command == ["mark"] { &["here"] } else { &[] };
        let ran = wait(&recording.world, recording.world.tool([command, &[&pid], name].concat()));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    page.stop();
    assert_eq!(running.wait().code, 0);
    let capture = recording.capture();
    let scans = scans(&capture);
    assert_eq!(scans.len(), 1);
    let processes = Reader::open(capture.file()).expect("it is a capture").into_tables().processes;
    let scanned = &processes[scans[0].process.index()];
    assert!(scanned.forked && scanned.pid == child.cast_unsigned(), "{scanned:?}");
}

/// Check that the daemon scans a child that a recorded process has forked, by its own pid.
#[test]
fn daemon_scans_children() {
    let world = World::new();
    let page = Page::new(&world);
    let mut daemon = world.tool(["daemon", "--no-symbolize", "--on-full", "block", "--max-wait", "100s"]);
    daemon.arg("--folder").arg(world.folder());
    let daemon = start_collector(&world, daemon);
    let mut command = world.command(c("serves_by_children").flags(["-O1"]).build());
    command.arg(&page.path).env("LD_PRELOAD", agent(&world));
    let program = start(&world, command);
    page.wait_for_calls(1, 1000);
    let parent = page.pid().to_string();
    let asked = |words: &[&str]| {
        let ran = wait(&world, world.tool(words));
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.stderr);
        ran
    };
    asked(&["daemon", "start", &parent]);
    page.go();
    page.wait_for_calls(3, 1000);
    // The pid of a child, as the child reports it.
    let child = page.calls(1).frees_begun;
    let told = asked(&["scan", &child.to_string()]).stderr;
    assert!(told.contains("scanned "), "{told}");
    let capture = capture_in(&world);
    page.stop();
    assert_eq!(program.wait().code, 5);
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait().code, 0);
    let tables = Reader::open(&capture).expect("it is a capture").into_tables();
    let [scan] = &tables.scans[..] else { panic!("it was scanned once: {:?}", tables.scans) };
    let scanned = &tables.processes[scan.process.index()];
    assert!(scanned.forked && u64::from(scanned.pid) == child, "{scanned:?}");
}

/// The only capture in the folder of a world.
fn capture_in(world: &World) -> std::path::PathBuf {
    let entries = std::fs::read_dir(world.folder()).expect("it is ours").flatten();
    let captures = entries.map(|entry| entry.path());
    let mut captures = captures.filter(|path| path.extension().is_some_and(|ending| ending == "memprof"));
    captures.next().expect("one is written")
}

/// Check that a capture sent over a connection has scans, and that recordings which could keep none make no process
/// wait.
#[test]
fn sent_captures_have_scans() {
    let world = World::new();
    let mut command = world.command("sh");
    let script = r#""$0" run --quiet --no-cpu --no-symbolize --scan-at-exit -o - "$1" >sent.memprof"#;
    command.args(["-c", script]).arg(product()).arg(c("keeps_one_in_eight").build());
    let ran = wait(&world, command);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let file = world.path("sent.memprof");
    let capture = Capture::new(world, file);
    assert_eq!(scans(&capture).len(), 1);
}

/// Starts a program whose collector is stopped before the program ends; returns the program's process.
fn at_its_end(recording: &Recording, page: &Page) -> (Running, Pid) {
    let running = recording.start();
    wait_for("the program", || page.pid() != 0);
    running.stop();
    page.go();
    (running, Pid::from_raw(page.pid()).expect("a pid is not 0"))
}

/// Waits for the end of a process, for a limited time.
fn wait_for_end(process: Pid) {
    let started = Instant::now();
    let stat = format!("/proc/{}/stat", process.as_raw_nonzero());
    let is_there = || {
        let stat = std::fs::read_to_string(&stat).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
    };
    wait_for("the end", || !is_there());
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
}

/// Check that a waiting process goes on soon when its collector dies, and when the recording is ended.
#[test]
fn the_dead_hold_nobody_up() {
    for signal in [Signal::KILL, Signal::INT] {
        let world = World::new();
        let page = Page::new(&world);
        let program = c("ends_with_blocks").flags(["-O1"]).build();
        let recording = scanned(&program).world(world).arg(&page.path);
        let (running, process) = at_its_end(&recording, &page);
        wait_for("the program to do its work", || page.is_done());
        running.signal(signal);
        running.signal(Signal::CONT);
        wait_for_end(process);
        running.wait();
    }
}

/// Check that a handler which interrupts the wait and exits ends the process at once, with its own code.
#[test]
fn handlers_end_the_wait() {
    let world = World::new();
    let page = Page::new(&world);
    let recording = scanned(&c("exits_again_in_a_handler").build()).world(world).arg(&page.path);
    let (running, process) = at_its_end(&recording, &page);
    wait_for_end(process);
    running.signal(Signal::CONT);
    assert_eq!(running.wait().code, 9);
}
