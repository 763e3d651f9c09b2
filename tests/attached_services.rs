//! Services that do odd things while they are attached to: each is recorded exactly, or the reason why not is given,
//! with what helps; and all of them go on as if we had not come.

use crate::harness::{
    Page, Ran, Service, World, agent, assert_exact, assert_exact_so_far, c, info, installed, number, skip,
    start, wait, wait_for,
};
use rustix::process::{Signal, geteuid};
use std::fs;
use std::time::{Duration, Instant};

/// Records a service while it works, and makes it end.
fn records(server: &Service, file: &str) {
    let collector = server.attach(file);
    server.work();
    collector.signal(Signal::INT);
    let ran = collector.wait();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

/// Check that services are recorded that close descriptors which they have not opened, have given up their rights, or
/// have all memory locked, which then does not include all of a recording's.
#[test]
fn services_are_recorded_whatever_their_ways() {
    for way in ["closes", "drops", "locked"] {
        if way != "closes" && !geteuid().is_root() {
            skip(way, "only root may");
            continue;
        }
        let server = Service::with_a_way(way);
        let before = server.kilobytes("VmRSS:");
        for file in ["one.memprof", "two.memprof"] {
            records(&server, file);
            assert_exact(&info(&server.world, file), 1);
        }
        let after = server.kilobytes("VmRSS:");
        assert!(after < before + (32 << 10), "{way}: {after} KiB after {before}");
        server.stop();
    }
}

/// Check that a service whose workers come and go is recorded with all of them, more than there is room for at once.
#[test]
fn workers_that_come_and_go_are_recorded() {
    let server = Service::with_a_way("workers");
    for file in ["one.memprof", "two.memprof"] {
        let collector = server.attach(file);
        // A worker makes some four hundred calls.
        (0..12).for_each(|_| server.work());
        collector.signal(Signal::INT);
        let ran = collector.wait();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let info = info(&server.world, file);
        assert_exact_so_far(&info, 1);
        let processes = info["processes"].as_array().expect("a list");
        assert!(processes.len() > 300, "{} processes", processes.len());
        let forked = processes.iter().filter(|process| process["forked"] == true).count();
        // Workers that had begun before the attach are not recorded: only their master was named.
        assert_eq!(forked, processes.len() - 1);
        let ended = processes.iter().filter(|process| process["ended"] == "exited").count();
        assert!(ended + 10 > forked, "{ended} of {forked} have ended");
    }
    server.stop();
}

/// Check that a process which executes itself again and again can be attached to at any moment: what was recorded is
/// exact, the recording ends with the image, and the process goes on.
#[test]
fn process_that_executes_itself_can_be_attached_to() {
    let server = Service::with_a_way("execs");
    for _ in 0..8 {
        let more = ["--duration", "5s", "--no-symbolize", "--on-full", "block", "--force"];
        let ran = server.run("attach", &[&more[..], &["-o", "it.memprof"]].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let info = info(&server.world, "it.memprof");
        assert_exact_so_far(&info, 1);
        assert_eq!(info["processes"][0]["ended"], "exec", "{:#}", info["processes"]);
        assert!(ran.stderr.contains("called exec; the new program is not recorded"), "{}", ran.stderr);
        server.work();
    }
    server.stop();
}

/// Attaches in vain; returns the reason.
fn refused(server: &Service) -> String {
    let ran = server.run("attach", &["--timeout", "200ms", "-o", "no.memprof"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("did not answer"), "{}", ran.stderr);
    assert!(!server.world.path("no.memprof").exists());
    ran.stderr
}

/// Check that a stopped process is not waited for longer than requested, that it is reported as stopped, and that it
/// can be recorded as soon as it continues.
#[test]
fn stopped_process_is_told_of() {
    let server = Service::with_a_way("closes");
    server.signal(Signal::STOP);
    wait_for("the stop", || server.state() == 'T');
    let began = Instant::now();
    assert!(refused(&server).contains("It is stopped"));
    assert!(began.elapsed() < Duration::from_secs(60));
    server.signal(Signal::CONT);
    server.work();
    records(&server, "it.memprof");
    assert_exact(&info(&server.world, "it.memprof"), 1);
    server.stop();
}

/// Check that a process which may not open or map what a recording needs goes on unharmed, that what it lacks is
/// reported, and that it is recorded once the limit has been raised.
#[test]
fn limits_of_a_service_are_told_of() {
    for (way, why, raised) in [
        ("full", "descriptors open and may have 64", "--nofile=256:"),
        ("few", "descriptors open and may have 3", "--nofile=256:"),
        ("narrow", "but a recording needs", "--as=unlimited:"),
    ] {
        let server = Service::with_a_way(way);
        let said = refused(&server);
        assert!(said.contains(why), "{way}: {said}");
        server.work();
        let Some(prlimit) = installed("prlimit") else {
            skip(way, "prlimit is not installed");
            server.stop();
            continue;
        };
        let mut raise = server.world.command(prlimit);
        raise.args(["--pid", &server.pid(), raised]);
        assert_eq!(wait(&server.world, raise).code, 0);
        records(&server, "it.memprof");
        assert_exact(&info(&server.world, "it.memprof"), 1);
        server.stop();
    }
}

/// Check that a process which makes no allocator calls is made to answer, however often it is asked, goes on as if
/// nothing had happened, and has nothing in the capture that it did not do.
#[test]
#[cfg(target_arch = "x86_64")]
fn idle_process_is_woken() {
    let server = Service::with_a_way("sleeps");
    for _ in 0..3 {
        let more =
            ["--duration", "100ms", "--no-symbolize", "--timeout", "1m", "--force", "-o", "it.memprof"];
        let ran = server.run("attach", &more);
        // On a machine with too much to do it may first be said that it has not answered yet.
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let info = info(&server.world, "it.memprof");
        for field in ["/totals/allocations", "/totals/unmatched_frees", "/lost/events"] {
            assert_eq!(number(&info, field), 0, "{field}: {info:#}");
        }
        assert_eq!(info["processes"][0]["pid"].to_string(), server.pid());
    }
    server.stop();
}

/// Check that while an idle process is waited for, the reason is shown, and that the wait ends when the user wants.
#[test]
fn waiting_says_what_for() {
    let server = Service::with_a_way("sleeps");
    for command in ["attach", "top"] {
        let waiting = start(&server.world, server.tool(command, &["--timeout", "1h", "--no-inject"]));
        wait_for("a note", || waiting.stderr().contains("Waiting for it, up to 1 h 00 min"));
        assert!(waiting.stderr().contains("answers at its next allocation or free"), "{}", waiting.stderr());
        waiting.signal(Signal::INT);
        assert_eq!(waiting.wait().code, 2, "{command}");
    }
    server.stop();
}

/// Check that a service which has gone into the background is recorded, or, if it has another root folder now, that
/// the reason why it cannot be is given.
#[test]
fn daemon_is_recorded_or_told_of() {
    let world = World::new();
    let page = Page::new(&world);
    let mut command = world.command(c("serves_in_its_way").flags(["-O1", "-fno-builtin"]).build());
    command.arg(&page.path).arg("daemon").env("LD_PRELOAD", agent(&world));
    assert_eq!(wait(&world, command).code, 5);
    page.wait_for_calls(1, 1000);
    let pid = page.pid().to_string();
    let attach = || -> Ran {
        let mut tool = world.tool(["attach", &pid, "--timeout", "2s", "--duration", "1s", "--no-symbolize"]);
        tool.args(["--quiet", "--output"]).arg(world.path("it.memprof"));
        wait(&world, tool)
    };
    let ran = attach();
    if geteuid().is_root() {
        let folder = world.path("agent");
        let why = format!("It has changed its root folder, in which there is no {}", folder.display());
        assert!(ran.code == 2 && ran.stderr.contains(&why), "{}", ran.stderr);
    } else {
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let info = info(&world, "it.memprof");
        assert_exact_so_far(&info, 1);
        assert!(number(&info, "/totals/allocations") > 0);
    }
    page.wait_for_calls(1, page.calls(0).mallocs_done + 10_000);
    page.stop();
    // The process that has it as a child now need not wait for it.
    let has_ended = |stat: String| stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z"));
    wait_for("the daemon's end", || fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, has_ended));
}
