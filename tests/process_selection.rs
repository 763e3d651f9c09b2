//! Processes are named by their pids or by their names.

use crate::harness::{
    Page, Running, World, agent, attach, c, copy_program, info, number, start, wait, wait_for,
};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;

/// Two services with the same name, which nobody else has.
struct Pair {
    world: World,
    name: String,
    services: [(Running, Page); 2],
}

impl Pair {
    fn new() -> Pair {
        let world = World::new();
        let agent = agent(&world);
        // Longer than what the kernel keeps of a name.
        let name = format!("serves-by-its-name-{}", world.folder().file_name().unwrap().to_str().unwrap());
        // Where nobody looks for a capture with that name.
        let folder = world.path("bin");
        fs::create_dir(&folder).unwrap();
        let program = folder.join(&name);
        copy_program(c("counts_its_calls").flags(["-O1"]).build(), &program);
        let service = || {
            let page = Page::new(&world);
            let mut command = world.command(&program);
            command.arg(&page.path).args(["1", "5000"]).env("LD_PRELOAD", &agent);
            let running = start(&world, command);
            page.wait_for_calls(1, 1000);
            // The next one gets another file.
            fs::remove_file(&page.path).unwrap();
            (running, page)
        };
        let services = [service(), service()];
        Pair { world, name, services }
    }

    fn pids(&self) -> [String; 2] {
        self.services.each_ref().map(|(running, _)| running.pid().as_raw_nonzero().to_string())
    }

    /// Checks that a command about this name ends with this code and prints this.
    fn says(&self, command: &[&str], code: i32, says: &str) {
        let ran = wait(&self.world, self.world.tool(command.iter().copied()));
        assert!(ran.code == code && ran.stderr.contains(says), "{command:?}: {} {}", ran.code, ran.stderr);
    }

    /// What they are doing, according to `ps` with this name.
    fn states(&self) -> Vec<String> {
        let ran = wait(&self.world, self.world.tool(["ps", &self.name, "--json"]));
        let document: Value = serde_json::from_str(ran.text()).expect("ps prints JSON");
        let rows = document["processes"].as_array().expect("there is a list");
        rows.iter().map(|row| row["state"].as_str().unwrap().to_owned()).collect()
    }

    fn end(self) {
        for (running, page) in self.services {
            page.stop();
            assert_eq!(running.wait().code, 5);
        }
    }
}

/// Check that all processes of a name are recorded, in one capture, and detached from again, that commands about a
/// recording accept the name, and that those about one process do if it means only one, and otherwise list them.
#[test]
fn processes_are_recorded_by_name() {
    let pair = Pair::new();
    let [one, two] = pair.pids();
    let name = pair.name.as_str();
    assert_eq!(pair.states(), ["dormant", "dormant"]);
    pair.says(&["mark", name, "early"], 2, &format!("is recorded ({one}, {two})"));

    let collector = attach(&pair.world, name, &["--no-symbolize", "--output", "all.memprof"]);
    assert_eq!(pair.states(), ["recorded", "recorded"]);
    let choice = format!("2 recorded processes are called {name}: {one}, {two}. Give the pid of one");
    pair.says(&["scan", name], 2, &choice);
    pair.says(&["top", name], 2, &format!("2 processes are called {name}: {one}, {two}"));
    pair.says(&["mark", name, "middle"], 0, "marked middle");
    pair.says(&["snapshot", name, "both"], 0, "both.memprof");
    pair.says(&["detach", &two], 0, "continues unrecorded");
    wait_for("the end of its recording", || pair.states() == ["recorded", "dormant"]);
    pair.says(&["mark", name, "late"], 0, "marked late");
    pair.says(&["snapshot", name, "now"], 0, "now.memprof");
    pair.says(&["detach", name], 0, &format!("process {one} continues unrecorded"));
    assert_eq!(collector.wait().code, 0);

    for (file, marks) in [("all.memprof", 4), ("both.memprof", 2)] {
        let told = info(&pair.world, file);
        assert_eq!(told["processes"].as_array().map(Vec::len), Some(2), "{told:#}");
        assert!(number(&told, "/totals/allocations") > 0);
        assert_eq!(told["marks"].as_array().map(Vec::len), Some(marks), "{:#}", told["marks"]);
    }
    pair.end();
}

/// Check that a forked process, whose recording is that of the process that has forked it, is detached from by their
/// name, that its pid alone ends nobody else's recording, and that it is said whose it would be.
#[test]
fn forked_processes_are_detached_from_with_their_parent() {
    let world = World::new();
    let page = Page::new(&world);
    // A name that nobody else has.
    let name = format!("forks-{}", world.folder().file_name().unwrap().to_str().unwrap());
    let program = world.path(&name);
    copy_program(c("serves_by_children").flags(["-O1"]).build(), &program);
    let mut command = world.command(&program);
    command.arg(&page.path).env("LD_PRELOAD", agent(&world));
    let running = start(&world, command);
    page.wait_for_calls(1, 1000);
    let parent = running.pid().as_raw_nonzero().to_string();
    let collector = attach(&world, &parent, &["--no-symbolize", "--output", "it.memprof"]);
    page.go();
    wait_for("the children", || (1..=2).all(|child| page.calls(child).mallocs_done > 1000));
    let child = page.calls(1).frees_begun.to_string();
    let ran = wait(&world, world.tool(["detach", &child]));
    let why = format!("was forked by process {parent} and is recorded with it");
    assert!(ran.code == 1 && ran.stderr.contains(&why), "{}", ran.stderr);
    let ran = wait(&world, world.tool(["detach", &name]));
    assert_eq!((ran.code, ran.stderr.matches("continues unrecorded").count()), (0, 3), "{}", ran.stderr);
    assert_eq!(collector.wait().code, 0);
    page.stop();
    assert_eq!(running.wait().code, 5);
}

/// Check that a daemon begins and ends recordings of all processes of a name, and that the failure of one of them
/// does not affect the others.
#[test]
fn daemon_records_by_name() {
    let pair = Pair::new();
    let [one, two] = pair.pids();
    let name = pair.name.as_str();
    let mut daemon = pair.world.tool(["daemon", "--no-symbolize"]);
    daemon.arg("--folder").arg(pair.world.folder());
    let daemon = crate::harness::start_collector(&pair.world, daemon);
    pair.says(&["daemon", "stop", name], 2, "is recorded");
    pair.says(&["daemon", "start", &one], 0, "recording process");
    pair.says(&["daemon", "start", name], 1, &format!("recording process {two} to"));
    assert_eq!(pair.states(), ["recorded", "recorded"]);
    let choice = format!("2 recorded processes are called {name}: {one}, {two}. Give the pid of one");
    for command in [&["mark", name, "here"][..], &["snapshot", name, "now"], &["serve", name]] {
        pair.says(command, 2, &choice);
    }
    pair.says(&["daemon", "stop", "4194303", name], 1, &format!("process {two} continues unrecorded"));
    wait_for("the end of the recordings", || pair.states() == ["dormant", "dormant"]);
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait().code, 0);
    pair.end();
}

/// Check that names which nobody has, or which are impossible, are refused before anything is written.
#[test]
fn names_of_nobody_are_refused() {
    let world = World::new();
    for command in ["attach", "detach", "daemon start", "daemon stop", "top", "scan", "snapshot", "ps"] {
        let ran = wait(&world, world.tool(command.split(' ').chain(["no-such-process"])));
        assert!(
            ran.code == 2 && ran.stderr.contains("no process is called no-such-process"),
            "{}",
            ran.stderr
        );
        for word in ["/usr/sbin/nginx", "0", "99999999999", ""] {
            let ran = wait(&world, world.tool(command.split(' ').chain([word])));
            assert!(ran.code == 2 && ran.stderr.contains("pid"), "{command} {word}: {}", ran.stderr);
        }
    }
    let ran = wait(&world, world.tool(["serve", "no-such-process"]));
    assert!(ran.code != 0 && ran.stderr.contains("No such file"), "{}", ran.stderr);
    let left: Vec<_> = fs::read_dir(world.folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.iter().all(|path| path.extension().is_none_or(|ending| ending != "memprof")), "{left:?}");
}
