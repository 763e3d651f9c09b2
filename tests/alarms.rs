//! Alarms: what is done when a recording that goes on holds too much, up to what the kernel ends for it.

use crate::harness::{
    Group, Recording, Server, Service, World, agent, attach, c, installed, number, product, record, skip,
    start, start_collector, wait, wait_for,
};
use rustix::process::Signal;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;

/// A program that takes so many mebibytes, and rests for so many microseconds after each.
fn holds(mebibytes: u64, rest: u64) -> Recording {
    let program = c("holds_slowly").flags(["-O1", "-g"]).build();
    record(program).args([mebibytes.to_string(), rest.to_string()]).with_names()
}

/// The documents that a command has written, one a line.
fn documents(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("an alarm is JSON")).collect()
}

/// The captures beside one.
fn snapshots(world: &World) -> Vec<PathBuf> {
    let files = fs::read_dir(world.folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = files
        .filter(|path| path.extension() == Some(OsStr::new("memprof")))
        .filter(|path| path.file_name() != Some(OsStr::new("it.memprof")))
        .collect();
    found.sort();
    found
}

/// The live bytes of a capture, and the functions of the stack that holds most, by names that are stored in it.
fn held(world: &World, file: &Path) -> (u64, Vec<String>) {
    let mut tool = world.tool(["report", "--by", "live", "--json", "--no-symbolize"]);
    tool.arg(file);
    let ran = wait(world, tool);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document: Value = serde_json::from_str(ran.text()).expect("it is JSON");
    let stack = document["rows"][0]["stack"].as_array().cloned().unwrap_or_default();
    let names = stack.iter().filter_map(|frame| frame["function"].as_str().map(str::to_owned));
    (number(&document, "/total/live_bytes"), names.collect())
}

/// Check that an alarm is raised once, when memory reaches the size, with the stacks that grew; that it is told to the
/// user, a command and a server; that its capture has what was held then; and that it makes the exit code 1.
#[test]
fn an_alarm_names_who_grew() {
    let server = Server::start(&[200]);
    let recording = holds(60, 20_000);
    let file = recording.world.path("alarms");
    let options = [
        "--alarm",
        "over=20M",
        "--on-alarm",
        "log",
        "--on-alarm",
        "snapshot",
        "--on-alarm",
        &format!("run:cat >>{}", file.display()),
        "--on-alarm",
        &format!("post:{}/alarm", server.address),
        "--on-alarm",
        "fail",
        "--label",
        "team=a",
    ]
    .map(str::to_owned);
    let (ran, capture) = recording.options(options).run();
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let documents = documents(&file);
    let [alarm] = documents.as_slice() else { panic!("{documents:?}") };
    assert_eq!(alarm["condition"], "over=20971520");
    assert_eq!(alarm["labels"]["team"], "a");
    assert_eq!(alarm["processes"][0]["name"], "holds_slowly");
    let grown = &alarm["grown"][0];
    assert_eq!(grown["stack"][0]["function"], "load");
    assert!(grown["stack"][0]["file"].as_str().is_some_and(|file| file.ends_with("holds_slowly.c")));
    let (live, grown) = (number(alarm, "/live_bytes"), number(grown, "/bytes"));
    assert!((20 * MIB..60 * MIB).contains(&live) && grown >= 20 * MIB, "{alarm}");
    let sent = server.requests();
    let [sent] = sent.as_slice() else { panic!("{} requests", sent.len()) };
    assert!(sent.line.starts_with("POST /alarm ") && sent.headers.contains("application/json"));
    let sent: Value = serde_json::from_slice(&sent.body).expect("it is JSON");
    assert_eq!(sent["grown"], alarm["grown"]);
    let line = ran.stderr.lines().find(|line| line.contains("alarm over=20971520: holds_slowly (")).unwrap();
    assert!(line.contains("MiB load (holds_slowly.c:"), "{line}");
    let snapshot = PathBuf::from(alarm["snapshot"].as_str().expect("it was saved"));
    assert_eq!(snapshots(capture.world()), std::slice::from_ref(&snapshot));
    let (bytes, functions) = held(capture.world(), &snapshot);
    assert!((20 * MIB..60 * MIB).contains(&bytes), "{bytes}");
    assert_eq!(functions[0], "load");
}

/// Check that nothing happens below the size, that growth raises an alarm again and again, each with what has grown
/// since the one before, and that what an alarm does may fail without harm.
#[test]
fn growth_is_told_again_and_again() {
    let recording = holds(60, 50_000);
    let file = recording.world.path("alarms");
    let (ran, _capture) = recording
        .options(["--alarm", "over=1G", "--alarm", "growth=100%", "--on-alarm", "run:exit 7"])
        .options(["--on-alarm", &format!("run:cat >>{}", file.display())])
        .options(["--on-alarm", "post:http://127.0.0.1:1/"])
        .run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("exit 7 failed") && ran.stderr.contains("cannot send to http://127.0.0.1:1/")
    );
    let mut documents = documents(&file);
    assert!(documents.len() >= 2, "{documents:?}");
    // Each is told by a thread of its own, so a later one may be told first.
    documents.sort_by_key(|alarm| number(alarm, "/live_bytes"));
    let mut live = 0;
    for alarm in &documents {
        assert_eq!(alarm["condition"], "growth=100%");
        let now = number(alarm, "/live_bytes");
        assert!(now >= 2 * live, "{documents:?}");
        live = now;
    }
    // The stacks are those of a moment later, and libc has some kilobytes.
    let total: u64 = documents.iter().map(|alarm| number(alarm, "/grown/0/bytes")).sum();
    assert!((live - 64 * 1024..=60 * MIB).contains(&total), "{documents:?}");
}

/// Check that an alarm is a warning for the journal, where standard error is that.
#[test]
fn the_journal_knows_alarms() {
    let world = World::new();
    let program = c("holds_slowly").flags(["-O1", "-g"]).build();
    let mut shell = world.command("/bin/sh");
    let journal = "export JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) && exec \"$@\"";
    shell.args(["-c", journal, "sh"]).arg(product()).args(["run", "--quiet", "--no-symbolize"]);
    shell.args(["--output", "it.memprof", "--alarm", "over=5M", "--"]).arg(program).args(["20", "50000"]);
    let ran = wait(&world, shell);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let begins = "<4>sysprof-memprof: warning: alarm over=5242880: holds_slowly (";
    assert!(ran.stderr.lines().any(|line| line.starts_with(begins)), "{}", ran.stderr);
}

/// Check that a service that is attached to raises alarms, and that these are its exit code.
#[test]
fn services_raise_alarms() {
    let service = Service::that_grows();
    let collector = attach(
        &service.world,
        &service.pid(),
        &["--output", "it.memprof", "--alarm", "over=100K", "--on-alarm", "log", "--on-alarm", "fail"],
    );
    wait_for("an alarm", || collector.stderr().contains("alarm over=102400: holds_and_churns ("));
    collector.signal(Signal::INT);
    let ran = collector.wait();
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("hold (holds_and_churns.c:"), "{}", ran.stderr);
    service.stop();
}

/// Check that a daemon raises the alarms of each of its recordings, with a capture of that one, and ends with 1.
#[test]
fn daemons_raise_alarms() {
    let services = [Service::that_grows(), Service::that_grows()];
    let world = &services[0].world;
    let file = world.path("alarms");
    let mut tool = world.tool(["daemon", "--folder", ".", "--alarm", "over=100K", "--on-alarm", "snapshot"]);
    tool.args(["--on-alarm", "fail", "--on-alarm", &format!("run:cat >>{}", file.display())]);
    let daemon = start_collector(world, tool);
    for (number, service) in services.iter().enumerate() {
        let ran = wait(world, world.tool(["daemon", "start", &service.pid()]));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        wait_for("an alarm", || documents(&file).len() > number);
        let alarm = &documents(&file)[number];
        assert_eq!(alarm["processes"][0]["pid"].to_string(), service.pid(), "{alarm}");
        assert_eq!(alarm["grown"][0]["stack"][0]["function"], "hold", "{alarm}");
        let (bytes, functions) = held(world, Path::new(alarm["snapshot"].as_str().expect("it was saved")));
        assert!(bytes >= 50 << 10 && functions[0] == "hold", "{bytes} {functions:?}");
    }
    daemon.signal(Signal::TERM);
    let ran = daemon.wait();
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    services.into_iter().for_each(|service| drop(service.stop()));
}

/// Check that before the kernel ends a process for its group's limit, an alarm has saved a capture, which opens and names
/// who held the memory: with the collector in another group or in the same, and if the limit is that of a group around.
#[test]
fn who_held_the_memory_is_saved_before_the_kernel_kills() {
    for place in ["inside", "inner", "with its collector"] {
        let Some(group) = Group::new("alarms", 96 * MIB) else { return };
        let program = c("holds_slowly").flags(["-O1", "-g"]).build();
        let inner = group.inner("inner");
        let enters = match place {
            "inside" => group.enter(),
            "inner" => inner.enter(),
            _ => group.enter().replace("$$", "$PPID") + &group.enter(),
        };
        let enters = format!("{enters} exec \"$0\" 1000 20000");
        let recording = record("/bin/sh").args(["-c", &enters]).arg(program).with_names();
        let file = recording.world.path("alarms");
        let (ran, capture) = recording
            .options(["--alarm", "limit=60%", "--on-alarm", "snapshot"])
            .options(["--on-alarm", &format!("run:cat >>{}", file.display())])
            .run();
        assert_eq!(ran.code, 128 + 9, "{place}: {}", ran.stderr);
        assert!(group.killed() + inner.killed() > 0, "{place}");
        let documents = documents(&file);
        let [alarm] = documents.as_slice() else { panic!("{place}: {documents:?}") };
        assert_eq!(alarm["condition"], "limit=60%");
        assert_eq!(number(alarm, "/cgroup_limit_bytes"), 96 * MIB, "{place}");
        let used = number(alarm, "/cgroup_bytes");
        assert!((57 * MIB..=96 * MIB).contains(&used), "{place}: {alarm}");
        assert_eq!(alarm["grown"][0]["stack"][0]["function"], "load", "{place}");
        let (bytes, functions) = held(capture.world(), Path::new(alarm["snapshot"].as_str().unwrap()));
        assert!(bytes > 20 * MIB && functions[0] == "load", "{place}: {bytes} {functions:?}");
    }
}

/// Check that a program which takes memory as fast as it can does not outrun the alarm.
#[test]
fn fast_programs_raise_alarms() {
    let Some(group) = Group::new("fast", 512 * MIB) else { return };
    let program = c("holds_slowly").flags(["-O1", "-g"]).build();
    // The group is looked for twice a second.
    let enters = group.enter() + "sleep 1 && exec \"$0\" 4000 0";
    let recording = record("/bin/sh").args(["-c", &enters]).arg(program);
    let file = recording.world.path("alarms");
    let (ran, _capture) = recording
        .options(["--alarm", "limit=50%", "--on-alarm", "snapshot"])
        .options(["--on-alarm", &format!("run:cat >>{}", file.display())])
        .run();
    assert_eq!(ran.code, 128 + 9, "{}", ran.stderr);
    let documents = documents(&file);
    let [alarm] = documents.as_slice() else { panic!("{documents:?}") };
    assert!((256 * MIB..512 * MIB).contains(&number(alarm, "/cgroup_bytes")), "{alarm}");
    assert!(Path::new(alarm["snapshot"].as_str().unwrap()).exists());
}

/// Check that cached files, with which the kernel fills every limit, raise no alarm.
#[test]
fn cached_files_raise_no_alarm() {
    let Some(group) = Group::new("files", 96 * MIB) else { return };
    let world = World::new();
    if rustix::fs::statfs(world.folder()).is_ok_and(|system| system.f_type == 0x0102_1994) {
        return skip("cached files", "the temporary folder is in memory");
    }
    let write = "head -c 200M /dev/zero >file && cat file >/dev/null && cat file >/dev/null";
    let recording = record("/bin/sh").args(["-c", &(group.enter() + write)]).world(world);
    let (ran, _capture) = recording.options(["--alarm", "limit=60%", "--on-alarm", "fail"]).run();
    assert!(group.used() > 60 * MIB, "{}", group.used());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

/// Check that the group of a process in a container is found from a container beside it, where its path is unknown.
#[test]
fn groups_of_other_containers_are_known() {
    let (Some(group), Some(own)) = (Group::new("container", 96 * MIB), Group::new("beside", 512 * MIB))
    else {
        return;
    };
    if installed("unshare").is_none() {
        return skip("containers", "unshare is not installed");
    }
    let world = World::new();
    let (root, kind) = group.mount();
    let mount =
        format!("mount -t tmpfs none /sys/fs/cgroup && mkdir -p {root} && mount -t {kind} none {root}");
    let inside = mount + " && exec \"$0\" 1000 50000";
    let mut shell = world.command("/bin/sh");
    shell.args(["-c", &(group.enter() + "exec unshare --cgroup --mount /bin/sh -c \"$0\" \"$1\""), &inside]);
    shell.arg(c("holds_slowly").flags(["-O1", "-g"]).build()).env("LD_PRELOAD", agent(&world));
    let container = start(&world, shell);
    wait_for("the program", || {
        let path = format!("/proc/{}/comm", container.pid().as_raw_nonzero());
        fs::read_to_string(path).is_ok_and(|name| name.trim() == "holds_slowly")
    });
    let file = world.path("alarms");
    let mut shell = world.command("/bin/sh");
    shell.args(["-c", &(own.enter() + "exec unshare --cgroup \"$0\" \"$@\"")]).arg(product());
    shell.args(["attach", &container.pid().as_raw_nonzero().to_string(), "--output", "it.memprof"]);
    shell.args(["--alarm", "limit=60%", "--on-alarm", "snapshot"]);
    shell.args(["--on-alarm", &format!("run:cat >>{}", file.display())]);
    let collector = start_collector(&world, shell);
    assert_eq!(container.wait().code, 128 + 9);
    let ran = collector.wait();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let documents = documents(&file);
    let [alarm] = documents.as_slice() else { panic!("{documents:?} {}", ran.stderr) };
    assert_eq!(number(alarm, "/cgroup_limit_bytes"), 96 * MIB, "{alarm}");
    let (bytes, functions) = held(&world, Path::new(alarm["snapshot"].as_str().unwrap()));
    assert!(bytes > 10 * MIB && functions[0] == "load", "{bytes} {functions:?}");
}
