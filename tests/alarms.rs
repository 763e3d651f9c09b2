//! Alarms: what is done when a recording that goes on holds too much, up to what the kernel ends for it.

use crate::harness::{
    Recording, Server, Service, World, attach, c, number, product, record, skip, wait, wait_for,
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

/// The live bytes of a capture, and the functions of the stack that holds most.
fn held(world: &World, file: &Path) -> (u64, Vec<String>) {
    let mut tool = world.tool(["report", "--by", "live", "--json"]);
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
    let documents = documents(&file);
    assert!(documents.len() >= 2, "{documents:?}");
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

/// A control group with a limit.
struct Group {
    folder: PathBuf,
    /// How often the kernel has ended one of its processes is in this file, as `oom_kill 1`.
    events: &'static str,
}

impl Group {
    /// A group of either version of the hierarchy; none where we may not make one.
    fn new(name: &str, limit: u64) -> Option<Group> {
        let versions = [
            ("/sys/fs/cgroup", "memory.max", "memory.events"),
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.oom_control"),
        ];
        versions.into_iter().find_map(|(root, file, events)| {
            let folder = Path::new(root).join(format!("{name}-{}", std::process::id()));
            fs::create_dir(&folder).ok()?;
            let group = Group { folder, events };
            let path = group.folder.join(file);
            (path.exists() && fs::write(path, limit.to_string()).is_ok()).then_some(group)
        })
    }

    fn killed(&self) -> u64 {
        let text = fs::read_to_string(self.folder.join(self.events)).unwrap_or_default();
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count.and_then(|count| count.parse().ok()).unwrap_or(0)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It is busy for a moment after its last process has ended.
        for _ in 0..100 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// Check that before the kernel ends a process for its group's limit, an alarm has saved a capture, which opens and names
/// who held the memory.
#[test]
fn who_held_the_memory_is_saved_before_the_kernel_kills() {
    let Some(group) = Group::new("memprof-alarms", 96 * MIB) else {
        skip("the kernel's kills", "no control group with a limit can be made here");
        return;
    };
    let program = c("holds_slowly").flags(["-O1", "-g"]).build();
    let enters = format!("echo $$ >{}/cgroup.procs && exec \"$0\" 1000 20000", group.folder.display());
    let recording = record("/bin/sh").args(["-c".into(), enters, program.display().to_string()]).with_names();
    let file = recording.world.path("alarms");
    let (ran, capture) = recording
        .options(["--alarm", "limit=60%", "--on-alarm", "snapshot"])
        .options(["--on-alarm", &format!("run:cat >>{}", file.display())])
        .run();
    assert_eq!(ran.code, 128 + 9, "{}", ran.stderr);
    assert!(group.killed() > 0);
    let documents = documents(&file);
    let [alarm] = documents.as_slice() else { panic!("{documents:?}") };
    assert_eq!(alarm["condition"], "limit=60%");
    assert_eq!(number(alarm, "/cgroup_limit_bytes"), 96 * MIB);
    let used = number(alarm, "/cgroup_bytes");
    assert!((57 * MIB..=96 * MIB).contains(&used), "{alarm}");
    assert_eq!(alarm["grown"][0]["stack"][0]["function"], "load");
    let (bytes, functions) = held(capture.world(), Path::new(alarm["snapshot"].as_str().unwrap()));
    assert!(bytes > 20 * MIB, "{bytes}");
    assert_eq!(functions[0], "load");
}
