//! Services: preloaded and dormant until attached to, and again afterwards.

use crate::harness::{
    Capture, Fixture, Page, Running, Service, World, agent, assert_exact, assert_exact_so_far, attach, c,
    copy_program, cpp, info, installed, library, number, product, skip, start, start_collector, wait,
    wait_for,
};
use rustix::process::{Pid, Signal, geteuid};
use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// `O_NONBLOCK`: a pipe is only opened for writing if somebody reads it.
const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();

/// Check that a running process is recorded from the attach on, exactly, and goes on unrecorded after the detach,
/// with nothing of ours left in it.
#[test]
fn running_process_is_recorded_between_attach_and_detach() {
    let server = Service::new(3);
    assert_eq!(server.row()["state"], "dormant");
    let descriptors = server.descriptors();
    let before = server.page.calls(0).mallocs_done;
    let collector = server.attach("it.memprof");
    let row = server.row();
    let collector_pid = collector.pid().as_raw_nonzero().get();
    assert_eq!((&row["state"], &row["collector"]), (&"recorded".into(), &collector_pid.into()));
    server.work();
    let ran = server.run("detach", &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(collector.wait().code, 0);
    server.work();
    server.wait_until_it_has_left();
    assert_eq!(server.descriptors(), descriptors);
    assert_eq!(server.row()["state"], "dormant");
    let after = server.page.calls(0).mallocs_begun;
    let world = server.stop();

    let info = info(&world, "it.memprof");
    assert_exact(&info, 3);
    let process = &info["processes"][0];
    assert_eq!((&process["ended"], &process["name"]), (&"running".into(), &"counts_its_calls".into()));
    assert!(number(&info, "/totals/allocations") / 3 <= after - before);
    assert_eq!(number(&info, "/threads"), 3);
}

/// Check that a process whose filters would kill it for a call that recording needs is left alone and goes on, and
/// that the reason is given.
#[test]
fn process_with_deadly_filters_is_left_alone() {
    if !geteuid().is_root() {
        return skip("deadly filters", "only root may see those of other processes");
    }
    for call in ["connect", "process_vm_readv"] {
        let server = Service::under(&c("confines_another"), call);
        let ran = server.run("attach", &["--duration", "100ms", "--output", "it.memprof"]);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        let says = format!("would kill it for what recording needs: {call}. Restart");
        assert!(ran.stderr.contains(&says), "{}", ran.stderr);
        server.work();
        server.stop();
    }
}

/// Check that each recording of a process has its own depth limit, be it lower or higher than the previous one.
#[test]
fn each_recording_has_its_own_depth() {
    let server = Service::new(2);
    let record = |depth: u64| {
        let file = format!("{depth}.memprof");
        let limit = depth.to_string();
        let collector = server.attach_with(&["--force", "--output", &file, "--max-depth", &limit]);
        server.work();
        collector.signal(Signal::INT);
        assert_eq!(collector.wait().code, 0);
        server.wait_until_it_has_left();
        let stacks = info(&server.world, &file)["stacks"].clone();
        (number(&stacks, "/addresses"), number(&stacks, "/truncated"))
    };
    // Whether the thread's own function is called by one function of libc or by two.
    let (whole, cut) = record(1024);
    assert!((2..=3).contains(&whole) && cut == 0, "{whole} {cut}");
    for depth in [2, 1, 1024, 2] {
        assert_eq!(record(depth), (depth.min(whole), u64::from(depth < whole)), "{depth}");
    }
    server.stop();
}

/// Recorded calls of one size, in a program whose second thread was at rest before and continues when it is attached
/// to.
fn calls_after_rest(program: &Fixture, size: u64) -> Vec<String> {
    let world = World::new();
    let agent = agent(&world);
    let server = Service::start(world, &agent, program, &[], 2);
    let collector = server.attach("it.memprof");
    // The collector knows a moment before the thread that has answered continues.
    server.page.wait_for_calls(1, server.page.calls(0).mallocs_done + 2);
    server.page.go();
    wait_for("the second thread to be done", || server.page.is_done());
    collector.signal(Signal::INT);
    assert_eq!(collector.wait().code, 0);
    let world = server.stop();
    let file = world.path("it.memprof");
    let events = Capture::new(world, file).events();
    events.into_iter().filter(|event| event.size == size).map(|event| event.call).collect()
}

/// Check that a kind that operator new announced while nobody recorded is not used for the first recorded call.
#[test]
fn what_is_announced_at_rest_is_over() {
    let program = cpp("announces_at_rest").flags(["-O1", "-fno-builtin"]);
    assert_eq!(calls_after_rest(&program, 1100), ["malloc"]);
}

/// Check that a thread which was at rest is no longer so once it is recorded, whatever it calls first.
#[test]
fn thread_at_rest_is_recorded_from_its_first_free_on() {
    let program = c("frees_first_after_rest").flags(["-O1", "-fno-builtin", "-pthread"]);
    assert_eq!(calls_after_rest(&program, 2200), ["realloc"]);
}

/// Check that a process joins and leaves between calls of an allocator, not in the middle of one, which may hold its
/// locks.
#[test]
fn nobody_answers_in_the_middle_of_an_allocator() {
    let (world, allocator) = (World::new(), library("maps_while_it_allocates").build());
    let agent = agent(&world);
    let program = c("counts_its_calls").flags(["-O1"]).with(&allocator);
    let server = Service::start(world, &agent, &program, &["1", "0"], 1);
    for file in ["first.memprof", "second.memprof", "third.memprof"] {
        let collector = server.attach(file);
        server.page.wait_for_calls(1, server.page.calls(0).mallocs_done + 5);
        collector.signal(Signal::INT);
        assert_eq!(collector.wait().code, 0);
        server.wait_until_it_has_left();
    }
    // A process that notices has ended with another code.
    server.stop();
}

/// Check that a user's soft limits do not hinder an attaching collector, and that reaching a remaining limit does not
/// end the collector: a failed write is reported.
#[test]
fn limits_of_the_collector_are_lifted() {
    let server = Service::new(1);
    let script = "ulimit -S -f 100; ulimit -S -n 20; exec \"$@\"";
    for command in ["attach", "top"] {
        let tool = server.tool(command, &["--no-symbolize", "--output", &format!("{command}.memprof")]);
        let mut shell = server.world.command("sh");
        shell.args(["-c", script, "sh"]).arg(tool.get_program()).args(tool.get_args());
        shell.envs(tool.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let collector = start(&server.world, shell);
        wait_for("the recording", || server.row()["state"] == "recorded");
        let status =
            fs::read_to_string(format!("/proc/{}/status", collector.pid().as_raw_nonzero())).unwrap();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
        let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
        assert_ne!(ignored & 1 << (Signal::XFSZ.as_raw() - 1), 0, "{command}");
        collector.signal(Signal::INT);
        let ran = collector.wait();
        assert_eq!(ran.code, 0, "{command}: {}", ran.stderr);
        server.wait_until_it_has_left();
    }
    server.stop();
}

/// Check that a recording is left soon after the end of the last hook that was at work in it when it ended, however
/// little the process allocates.
#[test]
fn a_hook_that_outlives_its_recording_is_waited_for() {
    let world = World::new();
    let program = c("waits_in_a_hook").with_api().flags(["-O1", "-fno-builtin", "-pthread"]);
    let waits = world.path("waits");
    let mut command = world.command(program.build());
    command.arg(&waits).env("LD_PRELOAD", agent(&world));
    let running = start(&world, command);
    let pid = running.pid().as_raw_nonzero().to_string();
    let output = world.path("it.memprof");
    let collector = attach(&world, &pid, &["--no-symbolize", "--output", output.to_str().expect("UTF-8")]);
    wait_for("the thread to be in its hook", || waits.exists());
    collector.signal(Signal::INT);
    assert_eq!(collector.wait().code, 0);
    fs::remove_file(waits).expect("it was made");
    let ran = running.wait();
    assert_eq!((ran.code, ran.text()), (0, "gone\n"), "{}", ran.stderr);
}

/// Check that cycles of attach and detach under load leave no memory, descriptor or file behind, and that each
/// capture is as exact as the first.
#[test]
fn cycles_of_attach_and_detach_leave_nothing() {
    let server = Service::new(3);
    let (mut settled, descriptors) = (None, server.descriptors());
    let files = || fs::read_dir(server.world.path("agent")).expect("it is ours").count();
    let files_before = files();
    for cycle in 0..20 {
        let collector = server.attach("it.memprof");
        server.work();
        collector.signal(Signal::INT);
        let ran = collector.wait();
        assert_eq!(ran.code, 0, "cycle {cycle}: {}", ran.stderr);
        server.work();
        server.wait_until_it_has_left();
        assert_exact(&info(&server.world, "it.memprof"), 3);
        fs::remove_file(server.world.path("it.memprof")).expect("it was made");
        let now = (server.kilobytes("VmSize:"), server.maps().lines().count());
        // The first cycles create what stays: addresses, tables, a state for each ring.
        if cycle == 2 {
            settled = Some(now);
        }
        if let Some((size, maps)) = settled {
            assert!(now.0 <= size + 4096, "cycle {cycle}: {} KiB after {size}", now.0);
            assert!(now.1 <= maps + 8, "cycle {cycle}: {} mappings after {maps}", now.1);
        }
        assert_eq!((server.descriptors(), files()), (descriptors, files_before), "cycle {cycle}");
    }
    server.stop();
}

/// Records a service into one file after another: nothing is lost, and each file has more than a thousand of what is
/// counted.
fn records_again(server: &Service, files: &[&str], counted: &str) {
    for file in files {
        let collector = server.attach(file);
        server.work();
        collector.signal(Signal::INT);
        assert_eq!(collector.wait().code, 0);
        let info = info(&server.world, file);
        assert_eq!(number(&info, "/lost/events"), 0, "{file}: {:#}", info["lost"]);
        assert!(number(&info, counted) > 1000, "{file}: {info:#}");
    }
}

/// Check that the stacks of a recording are its own, though the threads had others in the previous one.
#[test]
fn each_recording_has_stacks_of_its_own() {
    let server = Service::that_grows();
    records_again(&server, &["one.memprof", "two.memprof", "three.memprof"], "/stacks/complete_allocations");
    server.stop();
}

/// Check that a service which has tried in vain to confine itself is recorded as before, again and again.
#[test]
fn service_that_could_not_confine_itself_is_recorded() {
    let server = Service::of(&c("fails_to_confine_itself").flags(["-O1"]));
    records_again(&server, &["one.memprof", "two.memprof"], "/totals/allocations");
    server.stop();
}

/// Check that a service whose collector is killed goes on, and can be recorded by another one.
#[test]
fn killed_collector_is_replaced() {
    for threads in [1, 3] {
        let server = Service::new(threads);
        for _ in 0..2 {
            let collector = server.attach("killed.memprof");
            server.work();
            collector.signal(Signal::KILL);
            assert_eq!(collector.wait().code, 128 + 9);
            server.work();
            fs::remove_file(server.world.path("killed.memprof")).expect("it was made");
        }
        let collector = server.attach("second.memprof");
        server.work();
        collector.signal(Signal::TERM);
        assert_eq!(collector.wait().code, 0);
        let world = server.stop();
        assert_exact(&info(&world, "second.memprof"), threads as u64);
    }
}

/// Check that a recording ends on its own after its duration, and with its process.
#[test]
fn recording_ends_by_itself() {
    let server = Service::new(1);
    let mut arguments = vec!["--no-symbolize", "--duration", "100ms", "-o", "short.memprof"];
    arguments.extend(["--on-full", "block", "--max-wait", "100s"]);
    let ran = server.run("attach", &arguments);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("to short.memprof for 100 ms, or until ^C."), "{}", ran.stderr);
    // If the machine stops for a tenth of a second, the service has done nothing meanwhile.
    assert_exact_so_far(&info(&server.world, "short.memprof"), 1);
    let collector = server.attach("whole.memprof");
    let world = server.stop();
    assert_eq!(collector.wait().code, 0);
    let process = &info(&world, "whole.memprof")["processes"][0];
    assert_eq!((&process["ended"], &process["exit"]), (&"exited".into(), &5.into()), "{process:#}");
}

/// Check that a process is recorded by one collector at a time, and that the second is told who the first is.
#[test]
fn second_collector_is_told_of_the_first() {
    let server = Service::new(1);
    let collector = server.attach("first.memprof");
    let ran = server.run("attach", &["-o", "second.memprof"]);
    let expected = format!("already recorded by process {}", collector.pid().as_raw_nonzero());
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains(&expected), "{}", ran.stderr);
    assert!(!server.world.path("second.memprof").exists());
    collector.signal(Signal::INT);
    assert_eq!(collector.wait().code, 0);
    server.stop();
}

/// Check that a process which does not answer makes no other one wait: neither one that the same collector is to
/// record, nor one of another collector, which uses the same doorbell.
#[test]
fn silent_process_keeps_nobody_waiting() {
    let server = Service::new(1);
    let sleepers = [World::new(), World::new()].map(|world| {
        let page = Page::new(&world);
        let mut sleeper = server.world.command(c("burst").flags(["-O1"]).build());
        sleeper.arg(&page.path).arg("1").env("LD_PRELOAD", agent(&server.world));
        let sleeper = start(&server.world, sleeper);
        // It has begun, and does not allocate before it is told to go on.
        (page.pid().to_string(), sleeper, world)
    });
    let [(pid, ..), (other, ..)] = &sleepers;
    let tool = |more: &[&str]| {
        let mut tool =
            server.world.tool(["attach", pid, "--timeout", "1h", "--no-inject", "--no-symbolize", "-o"]);
        tool.args(more);
        start(&server.world, tool)
    };

    // Their time runs out while they are called in turn, and each is reported as silent.
    let ran = wait(
        &server.world,
        server.world.tool(["attach", pid, other, "--no-inject", "--timeout", "1s", "-o", "no.memprof"]),
    );
    assert_eq!(ran.code, 2);
    assert!(
        [pid, other].iter().all(|pid| ran.stderr.contains(&format!("process {pid} did not answer"))),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("could not be called"), "{}", ran.stderr);

    let both = tool(&["both.memprof", &server.pid()]);
    wait_for("the one that answers", || server.row()["state"] == "recorded");
    both.signal(Signal::INT);
    let ran = both.wait();
    assert!(ran.code == 2 && ran.stderr.contains("Waiting for it, up to 1 h 00 min"), "{}", ran.stderr);
    server.wait_until_it_has_left();

    let waiting = tool(&["no.memprof"]);
    wait_for("a note", || waiting.stderr().contains("Waiting for it"));
    let collector = server.attach("it.memprof");
    server.work();
    collector.signal(Signal::INT);
    assert_eq!(collector.wait().code, 0);
    assert_exact(&info(&server.world, "it.memprof"), 1);
    waiting.signal(Signal::INT);
    let ran = waiting.wait();
    assert!(ran.code == 2 && ran.stderr.contains("did not answer"), "{}", ran.stderr);
    for (_, sleeper, _) in sleepers {
        sleeper.signal(Signal::KILL);
        sleeper.wait();
    }
    server.stop();
}

/// Check that processes that cannot be attached to are refused with the reason, and that nothing is written or
/// replaced then.
#[test]
fn refusals_say_why() {
    let world = World::new();
    let refused = |pid: &str, why: &str| {
        let ran = wait(&world, world.tool(["attach", pid, "--no-inject", "-o", "no.memprof"]));
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.contains(why), "{why}: {}", ran.stderr);
        assert!(!world.path("no.memprof").exists());
        for command in ["attach", "top"] {
            let there = world.write("there.memprof", "precious");
            let mut tool = world.tool([command, pid, "--no-inject", "--force", "-o"]);
            tool.arg(&there);
            assert_eq!(wait(&world, tool).code, 2);
            assert_eq!(fs::read_to_string(there).expect("it is there"), "precious");
        }
    };
    refused(&std::process::id().to_string(), "does not have the agent preloaded");
    refused("4194303", "there is no process 4194303");
    // It has begun, and does not allocate before it is told to go on.
    let page = Page::new(&world);
    let mut sleeper = world.command(c("burst").flags(["-O1"]).build());
    sleeper.arg(&page.path).arg("1").env("LD_PRELOAD", agent(&world));
    let sleeper = start(&world, sleeper);
    let pid = page.pid().to_string();
    let ran = wait(&world, world.tool(["attach", &pid, "--timeout", "100ms", "-o", "no.memprof"]));
    assert!(ran.code == 2 && ran.stderr.contains("did not answer"), "{}", ran.stderr);
    let left: Vec<_> =
        fs::read_dir(world.path("agent")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name == "attach"), "{left:?}");
    sleeper.signal(Signal::KILL);
    sleeper.wait();
}

/// Check that an agent ignores doorbells that somebody else could ring, truncate or have put there.
#[test]
fn strange_doorbells_are_not_heard() {
    type Spoil = fn(&Path);
    let cases: [(&str, Spoil); 6] = [
        ("absent", |doorbell| fs::remove_file(doorbell).unwrap()),
        ("short", |doorbell| fs::write(doorbell, fs::read(doorbell).unwrap().get(..2048).unwrap()).unwrap()),
        ("a link", |doorbell| {
            fs::rename(doorbell, doorbell.with_extension("real")).unwrap();
            symlink(doorbell.with_extension("real"), doorbell).unwrap();
        }),
        ("two names", |doorbell| fs::hard_link(doorbell, doorbell.with_extension("second")).unwrap()),
        ("writable for all", |doorbell| {
            fs::set_permissions(doorbell, PermissionsExt::from_mode(0o666)).unwrap()
        }),
        ("of another user", |doorbell| chown(doorbell, Some(65534), None).unwrap()),
    ];
    for (what, spoil) in cases {
        if what == "of another user" && !geteuid().is_root() {
            skip("a doorbell of another user", "only root can make one");
            continue;
        }
        let world = World::new();
        let agent = agent(&world);
        spoil(&world.path("agent/doorbell"));
        let server = Service::with(world, &agent, 1);
        assert!(!server.maps().contains("doorbell"), "{what}");
        let ran = server.run("attach", &["-o", "no.memprof"]);
        assert!(ran.code == 2 && ran.stderr.contains("there was no doorbell"), "{what}: {}", ran.stderr);
        server.stop();
    }
}

/// Check that another user sees nothing of a process, and can neither attach to it nor command its collector.
#[test]
fn other_users_are_kept_out() {
    let Some(setpriv) = installed("setpriv").filter(|_| geteuid().is_root()) else {
        return skip("another user", "this needs root and setpriv");
    };
    let server = Service::new(1);
    // The other user can run the tool, so that is not what keeps it out.
    let tool = server.world.path("sysprof-memprof");
    copy_program(product(), &tool);
    fs::set_permissions(server.world.folder(), PermissionsExt::from_mode(0o777)).unwrap();
    fs::set_permissions(server.world.path("agent"), PermissionsExt::from_mode(0o755)).unwrap();
    let other = |arguments: &[&str]| {
        let mut command = server.world.command(&setpriv);
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&tool).args(arguments);
        wait(&server.world, command)
    };
    let pid = server.pid();
    assert!(!other(&["ps"]).text().contains(&pid));
    let ran = other(&["attach", &pid, "-o", "no.memprof"]);
    assert!(ran.code == 2 && ran.stderr.contains("belongs to another user"), "{}", ran.stderr);
    let collector = server.attach("it.memprof");
    for command in [&["detach", &pid][..], &["snapshot", &pid, "no.memprof"]] {
        let ran = other(command);
        assert!(ran.code == 2 && ran.stderr.contains("belongs to another user"), "{}", ran.stderr);
    }
    assert_eq!(fs::metadata(server.world.path("it.memprof")).unwrap().mode() & 0o777, 0o600);
    collector.signal(Signal::INT);
    assert_eq!(collector.wait().code, 0);
    server.stop();
}

/// Check that whoever may not look at a process although it is theirs, or although they are root, is told why.
#[test]
fn refusal_to_look_at_a_process_is_explained() {
    let Some(setpriv) = installed("setpriv").filter(|_| geteuid().is_root()) else {
        return skip("a process that may not be looked at", "this needs root and setpriv");
    };
    let world = World::new();
    let tool = world.path("sysprof-memprof");
    copy_program(product(), &tool);
    fs::set_permissions(world.folder(), PermissionsExt::from_mode(0o777)).unwrap();
    let attach = |powers: &[&str], pid: &str| {
        let mut command = world.command(&setpriv);
        command.args(powers).arg(&tool).args(["attach", pid, "-o", "no.memprof"]);
        wait(&world, command)
    };
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let mut sleeper = world.command(&setpriv);
    let secret = world.path("secret");
    copy_program(c("not_dumpable").build(), &secret);
    let mut sleeper = sleeper.args(nobody).arg(&secret).spawn().unwrap();
    let pid = sleeper.id().to_string();
    let name = Path::new("/proc").join(&pid).join("comm");
    wait_for("the program to begin", || {
        fs::read_to_string(&name).is_ok_and(|name| name.trim() == "is_secret")
    });
    let own = attach(&nobody, &pid);
    // These others let it be read, too.
    let few =
        ["--bounding-set=-sys_ptrace,-perfmon,-sys_admin", "--inh-caps=-sys_ptrace,-perfmon,-sys_admin"];
    let weak = attach(&few, &pid);
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    for (ran, why) in [(own, "is yours, but"), (weak, "has no CAP_SYS_PTRACE")] {
        assert!(ran.code == 2 && ran.stderr.contains(why), "{}", ran.stderr);
    }
}

/// Check that snapshots are complete captures of what was recorded until then, by command and by signal, and that a
/// flood of signals does no harm.
#[test]
fn snapshots_are_captures() {
    let server = Service::new(2);
    let collector = server.attach("it.memprof");
    server.work();
    let ran = server.run("snapshot", &["first"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    server.work();
    let snapshots = || {
        let names = fs::read_dir(server.world.folder()).unwrap().map(|entry| entry.unwrap().file_name());
        names
            .filter_map(|name| name.into_string().ok())
            .filter(|name| name.starts_with("it.2"))
            .collect::<Vec<_>>()
    };
    collector.signal(Signal::USR1);
    wait_for("a snapshot", || collector.stderr().contains("wrote"));
    let by_signal = snapshots();
    for _ in 0..10_000 {
        collector.signal(Signal::USR1);
    }
    server.work();
    collector.signal(Signal::INT);
    assert_eq!(collector.wait().code, 0);
    let (first, whole) = (info(&server.world, "first.memprof"), info(&server.world, "it.memprof"));
    let second = info(&server.world, &by_signal[0]);
    let events = |info: &Value| number(info, "/events");
    assert!(events(&first) > 0 && events(&first) < events(&second) && events(&second) < events(&whole));
    for info in [&first, &second, &whole] {
        assert_eq!(info["cut"], Value::Null);
        assert_exact(info, 2);
    }
    server.stop();
}

/// A daemon, and the folder of its captures.
fn start_daemon(world: &World) -> (Running, PathBuf) {
    let captures = world.path("captures");
    fs::create_dir(&captures).unwrap();
    let mut daemon = world.tool(["daemon", "--no-symbolize", "--on-full", "block", "--max-wait", "100s"]);
    daemon.arg("--folder").arg(&captures);
    (start_collector(world, daemon), captures)
}

/// Check that the daemon records on request, one capture for each recording, reports what it cannot do, holds nothing
/// while nobody is recorded, and finishes its captures when told to end.
#[test]
fn daemon_records_when_asked() {
    let server = Service::new(1);
    let (daemon, captures) = start_daemon(&server.world);
    let descriptors = || fs::read_dir(format!("/proc/{}/fd", daemon.pid().as_raw_nonzero())).unwrap().count();
    let idle = descriptors();
    let asked = |command: &str, code: i32, why: &str| {
        let ran = server.run(command, &[]);
        assert!(ran.code == code && ran.stderr.contains(why), "{command}: {} {}", ran.code, ran.stderr);
    };
    asked("daemon stop", 1, "is not recorded by this daemon");
    for _ in 0..2 {
        asked("daemon start", 0, "recording process");
        asked("daemon start", 1, "is already recorded");
        server.work();
        assert_eq!(server.row()["collector"], daemon.pid().as_raw_nonzero().get());
        let ran = server.run("snapshot", &["now"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        fs::remove_file(server.world.path("now.memprof")).unwrap();
        asked("daemon stop", 0, "continues unrecorded");
        server.wait_until_it_has_left();
        wait_for("the recording's end", || descriptors() == idle);
    }
    asked("daemon start", 0, "recording process");
    server.work();
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait().code, 0);
    server.work();
    let world = server.stop();
    let files: Vec<_> = fs::read_dir(&captures).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        assert_exact(&info(&world, file.to_str().unwrap()), 1);
    }
}

/// Check that a database is recorded while it is busy, and goes on afterwards.
#[test]
fn redis_is_recorded_at_work() {
    let (Some(redis), Some(bench)) = (installed("redis-server"), installed("redis-benchmark")) else {
        return skip("redis", "redis-server and redis-benchmark are not installed");
    };
    let world = World::new();
    let socket = world.path("redis.sock");
    let mut server = world.command(redis);
    server.env("LD_PRELOAD", agent(&world)).args(["--port", "0", "--save", "", "--unixsocket"]).arg(&socket);
    let server = start(&world, server);
    let load = |requests: &str| {
        let mut load = world.command(&bench);
        load.args(["-q", "-n", requests, "-r", "100000", "-d", "100", "-t", "set,lpush", "-s"]).arg(&socket);
        wait(&world, load)
    };
    wait_for("redis", || load("1").code == 0);
    let pid = server.pid().as_raw_nonzero().to_string();
    // It answers at its next allocation: its clock ticks ten times a second.
    let collector = attach(&world, &pid, &["--output", "redis.memprof"]);
    assert_eq!(load("20000").code, 0);
    let detached = wait(&world, world.tool(["detach", &pid]));
    assert_eq!(detached.code, 0, "{}", detached.stderr);
    assert_eq!(collector.wait().code, 0);
    assert_eq!(load("1000").code, 0, "it works on");
    let info = info(&world, "redis.memprof");
    assert_eq!(number(&info, "/totals/unmatched_frees") + number(&info, "/totals/conflicts"), 0);
    assert!(number(&info, "/totals/allocations") > 20_000, "{:#}", info["totals"]);
    server.signal(Signal::TERM);
    server.wait();
}

/// Check that of a dormant process and its dormant child only the named one is recorded.
#[test]
fn parent_and_child_are_told_apart() {
    let world = World::new();
    let agent = agent(&world);
    let mut shell = world.command("sh");
    let busy = "while :; do :; x=$x$x; x=a; done";
    shell.args(["-c", &format!("({busy}) & echo $!; {busy}")]).env("LD_PRELOAD", agent);
    let parent = start(&world, shell);
    let children = || {
        let pid = parent.pid().as_raw_nonzero();
        fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default()
    };
    wait_for("the child", || !children().trim().is_empty());
    let child = children().trim().to_string();
    let ran = wait(&world, world.tool(["attach", &child, "--duration", "200ms", "-o", "child.memprof"]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let processes = info(&world, "child.memprof")["processes"].clone();
    let pids: Vec<_> =
        processes.as_array().unwrap().iter().map(|process| process["pid"].to_string()).collect();
    assert_eq!(pids.as_slice(), std::slice::from_ref(&child));
    parent.signal(Signal::KILL);
    parent.wait();
    let child = Pid::from_raw(child.parse().unwrap()).unwrap();
    rustix::process::kill_process(child, Signal::KILL).unwrap();
}

/// Check that children which are forked while a thread answers a doorbell can be attached to like any other.
#[test]
fn children_forked_in_an_answer_can_be_attached_to() {
    let world = World::new();
    let agent = agent(&world);
    let page = Page::new(&world);
    let mut command = world.command(c("forks_while_it_answers").flags(["-O1", "-pthread"]).build());
    command.arg(&page.path).arg(world.path("agent")).env("LD_PRELOAD", agent);
    let running = start(&world, command);
    wait_for("all children", || page.is_done() && (1..8).all(|child| page.calls(child).mallocs_done > 0));
    let descriptors = |pid: &str| fs::read_dir(format!("/proc/{pid}/fd")).expect("it runs").count();
    let of_parent = descriptors(&page.pid().to_string());
    for child in 1..8 {
        let pid = page.calls(child).mallocs_begun.to_string();
        // What its parent has closed since are the two listening sockets.
        assert_eq!(descriptors(&pid), of_parent + 2, "child {child}");
        let options = ["--timeout", "5s", "--duration", "50ms", "--no-symbolize", "--output", "it.memprof"];
        let mut tool = world.tool(["attach", &pid]);
        tool.args(options).arg("--force");
        let ran = wait(&world, tool);
        assert_eq!(ran.code, 0, "child {child}: {}", ran.stderr);
        assert_exact_so_far(&info(&world, "it.memprof"), 1);
    }
    page.stop();
    assert_eq!(running.wait().code, 5);
}

/// Check that `--duration` is the time for which processes are recorded: it is not rounded up, and does not include
/// waiting for another process that does not answer.
#[test]
fn durations_are_those_of_recordings() {
    let server = Service::new(1);
    let world = World::new();
    let page = Page::new(&world);
    let mut sleeper = server.world.command(c("burst").flags(["-O1"]).build());
    sleeper.arg(&page.path).arg("1").env("LD_PRELOAD", agent(&server.world));
    let sleeper = start(&server.world, sleeper);
    wait_for("the sleeper", || page.pid() != 0);
    let durations = |pids: &[String]| {
        let mut tool = server.world.tool(["attach"]);
        tool.args(pids).args(["--timeout", "20s", "--duration", "300ms", "--no-symbolize", "--force"]);
        tool.args(["--output", "it.memprof"]);
        let ran = wait(&server.world, tool);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        info(&server.world, "it.memprof")["duration_ns"].as_u64().expect("a number")
    };
    let alone = (0..5).map(|_| durations(&[server.pid()])).min().unwrap();
    assert!((300_000_000..480_000_000).contains(&alone), "{alone} ns");
    let both = durations(&[server.pid(), page.pid().to_string()]);
    assert!((300_000_000..5_000_000_000).contains(&both), "{both} ns");
    sleeper.signal(Signal::KILL);
    sleeper.wait();
}

/// Check that a recording begins when the first process takes part, however long that was waited for: both for its
/// duration and for its start time.
#[test]
fn recordings_begin_with_their_first_process() {
    let server = Service::new(1);
    for aggregate in [&[] as &[&str], &["--aggregate"]] {
        server.signal(Signal::STOP);
        wait_for("it to stop", || server.state() == 'T');
        let mut tool = server.tool("attach", &["--timeout", "1m", "--duration", "300ms", "--force"]);
        tool.args(["--snapshot-every", "700ms", "--no-symbolize", "--output", "it.memprof"]).args(aggregate);
        let collector = start(&server.world, tool);
        wait_for("a note", || collector.stderr().contains("Waiting for it"));
        std::thread::sleep(Duration::from_secs(1));
        let before = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_nanos();
        server.signal(Signal::CONT);
        let ran = collector.wait();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let info = info(&server.world, "it.memprof");
        let duration = number(&info, "/duration_ns");
        assert!((300_000_000..1_500_000_000).contains(&duration), "{duration} ns of {aggregate:?}");
        let hour = u128::from(number(&info, "/started_unix_ns"));
        assert!(hour + 250_000_000 > before, "{} ns too early: {aggregate:?}", before - hour);
        server.wait_until_it_has_left();
    }
    server.stop();
}

/// Check that a memory limit is the program's own, whether it is set before, during or after a recording.
#[test]
fn limits_of_memory_are_the_programs_own() {
    let program = c("limits_itself_late").flags(["-O1", "-fno-builtin"]);
    for limits_when in ["before", "in", "after"] {
        let server = Service::of(&program);
        let limit = || {
            server.page.go();
            wait_for("the limit", || server.page.is_done());
        };
        if limits_when == "before" {
            limit();
        }
        let collector = server.attach("it.memprof");
        if limits_when == "in" {
            limit();
        }
        server.page.wait_for_calls(1, server.page.calls(0).mallocs_done + 10);
        collector.signal(Signal::INT);
        assert_eq!(collector.wait().code, 0);
        server.wait_until_it_has_left();
        if limits_when == "after" {
            limit();
        }
        server.stop();
    }
}

/// Check that a snapshot which waits for its disk delays nothing else that the daemon is asked for, in the same
/// recording and others, and is complete when it is done, though the recording has ended meanwhile.
#[test]
fn slow_snapshots_keep_nobody_waiting() {
    let server = Service::new(1);
    let (daemon, captures) = start_daemon(&server.world);
    let asked = |command: &str, more: &[&str]| {
        let ran = server.run(command, more);
        assert_eq!(ran.code, 0, "{command}: {}", ran.stderr);
    };
    asked("daemon start", &[]);
    server.work();
    let capture = fs::read_dir(&captures).unwrap().next().expect("it is written").unwrap().path();
    let aside = server.world.path("aside");
    fs::rename(&capture, &aside).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &capture, 0o600.into()).unwrap();
    let snapshot = start(&server.world, server.tool("snapshot", &["slow"]));
    let mut read = None;
    wait_for("the snapshot to read the capture", || {
        // Only the reader can be there.
        read = OpenOptions::new().write(true).custom_flags(NONBLOCK).open(&capture).ok();
        read.is_some()
    });
    let mut read = read.expect("it was opened");
    asked("mark", &["meanwhile"]);
    asked("scan", &[]);
    let ran = wait(&server.world, server.world.tool(["daemon", "start", "1073741824"]));
    assert!(ran.code == 1 && !ran.stderr.is_empty(), "{}", ran.stderr);
    asked("daemon stop", &[]);
    server.wait_until_it_has_left();
    assert!(snapshot.stderr().is_empty(), "{}", snapshot.stderr());
    rustix::io::ioctl_fionbio(&read, false).unwrap();
    // It wants less than there is now, and is gone when it has that.
    let _ = read.write_all(&fs::read(&aside).unwrap());
    drop(read);
    let ran = snapshot.wait();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait().code, 0);
    let world = server.stop();
    let (whole, slow) = (info(&world, "aside"), info(&world, "slow.memprof"));
    assert!(number(&slow, "/events") > 0 && number(&slow, "/events") < number(&whole, "/events"));
    for info in [&whole, &slow] {
        assert_eq!(info["cut"], Value::Null);
        assert_exact(info, 1);
    }
    let named = |info: &Value| info["marks"].to_string().contains("meanwhile");
    assert!(named(&whole) && !named(&slow), "{} {}", whole["marks"], slow["marks"]);
}
