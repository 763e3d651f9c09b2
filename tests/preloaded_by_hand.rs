//! `record`: programs that were started by hand with the agent preloaded.

use crate::harness::{Capture, World, c, start, wait, wait_for};
use rustix::process::Signal;

/// Check that programs started by hand while a collector listens are recorded together in one capture.
#[test]
fn programs_started_by_hand_are_recorded() {
    let world = World::new();
    let (socket, file) = (world.path("socket"), world.path("all.memprof"));
    let mut record = world.tool(["record", "--listen"]);
    record.arg(&socket).arg("--output").arg(&file);
    let collector = start(&world, record);
    wait_for("the collector", || collector.stderr().contains("COMMAND\n"));

    let agent = wait(&world, world.tool(["agent", "path"])).text().trim().to_string();
    let by_hand = |program: &str, arguments: &[&str]| {
        let mut command = world.command(c(program).build());
        command.args(arguments).env("LD_PRELOAD", &agent).env("SYSPROF_MEMPROF_SOCKET", &socket);
        wait(&world, command).code
    };
    assert_eq!(by_hand("allocates_once", &[]), 0);
    assert_eq!(by_hand("forks_once", &[]), 0);
    assert_eq!(by_hand("ends", &["exit", "3"]), 3);
    collector.signal(Signal::INT);
    let ran = collector.wait();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!socket.exists(), "the socket is gone with its collector");
    assert_eq!(by_hand("ends", &["exit", "4"]), 4);

    let capture = Capture::new(world, file);
    capture.assert_sound();
    let info = capture.info();
    let processes = info["processes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names: Vec<_> = processes.iter().filter_map(|process| process["name"].as_str()).collect();
    assert_eq!(names, ["allocates_once", "forks_once", "forks_once", "ends"]);
    for (size, blocks) in [(1001, 1), (501, 10_000), (502, 10_000), (1500, 1)] {
        assert_eq!(capture.row_of_size(size).number("allocations"), blocks);
    }
}

/// Check that a recording whose socket was removed says once that nobody can join any more, and that its capture is
/// complete.
#[test]
fn removed_sockets_are_noticed() {
    let world = World::new();
    let (socket, file) = (world.path("socket"), world.path("it.memprof"));
    let mut record = world.tool(["record", "--no-symbolize", "--listen"]);
    record.arg(&socket).arg("--output").arg(&file);
    let collector = start(&world, record);
    wait_for("the collector", || collector.stderr().contains("COMMAND\n"));
    std::fs::remove_file(&socket).expect("it is a file of ours");
    wait_for("the warning", || collector.stderr().contains("socket was removed, so no more programs"));
    // Two more looks.
    std::thread::sleep(std::time::Duration::from_millis(1200));
    collector.signal(Signal::INT);
    let ran = collector.wait();
    assert_eq!((ran.code, ran.stderr.matches("was removed").count()), (0, 1), "{}", ran.stderr);
    assert!(file.exists());
}

/// Check that a process which still runs when the collector ends goes on, and that what it did until then is in the
/// capture.
#[test]
fn process_goes_on_when_the_collector_ends() {
    let world = World::new();
    let (socket, file) = (world.path("socket"), world.path("part.memprof"));
    let mut record = world.tool(["record", "--no-symbolize", "--listen"]);
    record.arg(&socket).arg("--output").arg(&file);
    let collector = start(&world, record);
    wait_for("the collector", || collector.stderr().contains("COMMAND\n"));

    let page = crate::harness::Page::new(&world);
    let agent = wait(&world, world.tool(["agent", "path"])).text().trim().to_string();
    let mut command = world.command(c("counts_its_calls").flags(["-O1"]).build());
    command.arg(&page.path).arg("1").env("LD_PRELOAD", agent).env("SYSPROF_MEMPROF_SOCKET", &socket);
    let running = start(&world, command);
    page.wait_for_calls(1, 1000);
    collector.signal(Signal::TERM);
    assert_eq!(collector.wait().code, 0);
    let seen = page.calls(0);
    page.wait_for_calls(1, seen.mallocs_done + 100_000);
    page.stop();
    assert_eq!(running.wait().code, 5);

    let info = Capture::new(world, file).info();
    let process = &info["processes"][0];
    assert_eq!(process["ended"], "running", "{process:#}");
    let recorded = process["allocations"].as_u64().unwrap_or(0);
    assert!((1000..=seen.mallocs_begun + 1).contains(&recorded), "{recorded} {seen:?}");
    assert_eq!(info["unrecorded"].as_array().map(Vec::len), Some(1), "{info:#}");
}

/// Check that a recording that cannot begin changes no files: neither the one that it was to replace, nor any new
/// one.
#[test]
fn recordings_that_cannot_begin_change_no_file() {
    let world = World::new();
    let nowhere = world.path("no/such/folder/socket");
    let there = world.write("there.memprof", "precious");
    let new = world.path("new.memprof");
    for (output, options) in [(&there, &["--force"][..]), (&new, &[])] {
        let mut record = world.tool(["record", "--listen"]);
        record.arg(&nowhere).arg("--output").arg(output).args(options);
        let ran = wait(&world, record);
        assert!(ran.code == 2 && ran.stderr.contains("cannot listen"), "{} {}", ran.code, ran.stderr);
    }
    assert_eq!(std::fs::read_to_string(&there).expect("it is there"), "precious");
    assert!(!new.exists());
}
