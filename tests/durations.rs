//! Recordings that end after a given time, and programs that go on.

use crate::harness::{Page, Running, World, c, info, number, start, wait, wait_for};
use rustix::process::Signal;

/// A program that runs until it is told to stop, and its recording by `run`.
struct Lasting {
    world: World,
    page: Page,
    running: Running,
}

impl Lasting {
    fn start(options: &[&str]) -> Lasting {
        let world = World::new();
        let page = Page::new(&world);
        let mut run = world.tool(["run", "--no-symbolize", "--no-cpu", "--output", "it.memprof"]);
        run.args(options).arg("--").arg(c("counts_its_calls").flags(["-O1"]).build());
        run.arg(&page.path).args(["1", "1000"]);
        let running = start(&world, run);
        page.wait_for_calls(1, 1000);
        Lasting { world, page, running }
    }

    /// Waits until the capture is finished, which is reported, while the program goes on.
    fn wait_for_its_end(&self) {
        wait_for("the capture", || self.running.stderr().contains("Wrote"));
        assert!(
            self.running.stderr().contains("the program continues unrecorded"),
            "{}",
            self.running.stderr()
        );
        self.page.wait_for_calls(1, self.page.calls(0).mallocs_done + 1000);
    }
}

/// Check that a recording ends after its time with a complete capture, that its program goes on with nothing left of
/// it, and that its exit code is the command's.
#[test]
fn program_outlives_its_recording() {
    let lasting = Lasting::start(&["--duration", "500ms"]);
    lasting.wait_for_its_end();
    let whole = info(&lasting.world, "it.memprof");
    let (nanoseconds, calls) = (number(&whole, "/duration_ns"), number(&whole, "/totals/allocations"));
    assert!((400_000_000..5_000_000_000).contains(&nanoseconds), "{nanoseconds}");
    assert!(calls >= 1000 && number(&whole, "/lost/events") == 0, "{whole:#}");
    assert_eq!(whole["processes"][0]["ended"], "running", "{:#}", whole["processes"]);
    let maps = || std::fs::read_to_string(format!("/proc/{}/maps", lasting.page.pid())).expect("it runs");
    wait_for("the memory to go", || !maps().contains("memfd:sysprof"));
    // It prints nothing more, and nothing twice.
    lasting.page.stop();
    let ran = lasting.running.wait();
    assert_eq!((ran.code, ran.stderr.matches("Wrote").count()), (5, 1), "{}", ran.stderr);
    assert!(calls < lasting.page.calls(0).mallocs_done, "{calls}");
}

/// Check that signals go to the program once the recording has ended, and that a request for a snapshot is answered.
#[test]
fn signals_are_for_the_program_that_goes_on() {
    let lasting = Lasting::start(&["--duration", "100ms"]);
    lasting.wait_for_its_end();
    lasting.running.signal(Signal::USR1);
    wait_for("an answer", || lasting.running.stderr().contains("no snapshot was written"));
    lasting.running.signal(Signal::TERM);
    assert_eq!(lasting.running.wait().code, 128 + 15);
}

/// Check that a program which ends before the time is over ends the recording, and that a program whose children are
/// waited for is not waited for longer.
#[test]
fn the_sooner_end_counts() {
    let world = World::new();
    let mut run = world.tool(["run", "--no-symbolize", "--duration", "100h", "--output", "it.memprof", "--"]);
    run.arg(c("ends").build()).args(["exit", "3"]);
    let ran = wait(&world, run);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(!ran.stderr.contains("goes on"), "{}", ran.stderr);

    let world = World::new();
    let options = ["run", "--no-symbolize", "--wait-children", "--duration", "1s", "--output", "it.memprof"];
    let mut run = world.tool(options);
    run.args(["--", "sh", "-c", "sleep 100 & exit 4"]);
    let ran = wait(&world, run);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.contains("left behind"), "{}", ran.stderr);
}

/// Check that rules are checked against what was recorded, once it is known how the program has ended.
#[test]
fn rules_are_checked_when_the_program_has_ended() {
    for (most, code) in [("1", 1), ("1000000", 0)] {
        let world = World::new();
        world.write("rules.toml", format!("max-allocations = {most}\n"));
        let mut run = world.tool(["run", "--no-symbolize", "--no-cpu", "--duration", "100ms", "--check"]);
        run.args(["rules.toml", "--output", "it.memprof", "--", "sh", "-c", "sleep 1; echo done"]);
        let ran = wait(&world, run);
        assert_eq!((ran.code, ran.text()), (code, "done\n"), "{}", ran.stderr);
        assert_eq!(ran.stderr.matches("Wrote").count(), 1, "{}", ran.stderr);
    }
}

/// Check that `record` ends after its time, too, without a ^C.
#[test]
fn listening_ends_after_its_time() {
    let world = World::new();
    let mut record = world.tool(["record", "--no-symbolize", "--listen", "socket", "--duration", "200ms"]);
    record.args(["--output", "it.memprof"]);
    let ran = wait(&world, record);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("for 200 ms, or until ^C"), "{}", ran.stderr);
    assert!(!world.path("socket").exists());
}
