//! Who may join a recording of root: programs that become other users, but no other programs of these users.

use crate::harness::{Capture, Page, Ran, Running, World, c, copy_program, skip, start, wait, wait_for};
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

const NOBODY: u32 = 65534;

/// A world in which another user can read the installed agent and start a program. `None` unless this is root.
fn world_for_others() -> Option<(World, PathBuf, PathBuf)> {
    let world = World::new();
    if fs::metadata(world.folder()).is_ok_and(|folder| folder.uid() != 0) {
        skip("other users", "becoming one is for root");
        return None;
    }
    fs::set_permissions(world.folder(), PermissionsExt::from_mode(0o755)).expect("the folder is ours");
    let mut install = world.tool(["agent", "install", "--prefix"]);
    install.arg(world.path("usr"));
    assert_eq!(wait(&world, install).code, 0);
    let agent = wait(&world, world.tool(["agent", "path"])).text().trim().to_owned();
    assert!(Path::new(&agent).starts_with(world.folder()), "{agent}");
    let program = world.path("allocates_once");
    copy_program(c("allocates_once").build(), &program);
    Some((world, agent.into(), program))
}

/// Runs a program of nobody with the agent, told to connect to a socket and to show a key there.
fn run_as_nobody(world: &World, agent: &Path, socket: &str, key: Option<&str>, program: &Path) -> Ran {
    let mut command = world.command(program);
    command.env("LD_PRELOAD", agent).env("SYSPROF_MEMPROF_SOCKET", socket).uid(NOBODY).gid(NOBODY);
    command.envs(key.map(|key| ("SYSPROF_MEMPROF_KEY", key)));
    wait(world, command)
}

/// A recording by `run` of a program that runs until told to stop, and the recording's variables in that program's
/// environment.
struct Recorded {
    page: Page,
    file: PathBuf,
    running: Running,
    socket: String,
    key: String,
}

impl Recorded {
    fn begin(world: &World) -> Recorded {
        let (page, file) = (Page::new(world), world.path("it.memprof"));
        let mut run = world.tool(["run", "--no-symbolize", "--no-cpu", "--output"]);
        run.arg(&file).arg("--").arg(c("counts_its_calls").flags(["-O1"]).build()).arg(&page.path).arg("1");
        let running = start(world, run);
        page.wait_for_calls(1, 10);
        let environment = fs::read(format!("/proc/{}/environ", page.pid())).expect("it runs");
        let environment = String::from_utf8(environment).expect("it is text");
        let variable = |name: &str| {
            let value = environment.split('\0').find_map(|text| text.strip_prefix(name)?.strip_prefix('='));
            value.unwrap_or_else(|| panic!("there is no {name}")).to_owned()
        };
        let (socket, key) = (variable("SYSPROF_MEMPROF_SOCKET"), variable("SYSPROF_MEMPROF_KEY"));
        Recorded { page, file, running, socket, key }
    }

    /// Ends it; returns its output and the capture.
    fn end(self, world: World) -> (Ran, Capture) {
        self.page.stop();
        let ran = self.running.wait();
        assert_eq!(ran.code, 5, "{}", ran.stderr);
        (ran, Capture::new(world, self.file))
    }
}

/// Blocks of this size that were freed.
fn frees(capture: &Capture, size: u64) -> u64 {
    capture.rows_of_size(size).iter().map(|row| row.number("frees")).sum()
}

/// Check that a program which becomes another user is recorded, and so are its child and what it executes, whatever
/// it does to the environment.
#[test]
fn programs_that_become_others_are_recorded() {
    for how in ["keeps", "clears", "replaces", "daemonizes", "spawns", "confuses"] {
        let Some((world, _, program)) = world_for_others() else { return };
        let becomes = world.path("becomes_another");
        copy_program(c("becomes_another").build(), &becomes);
        let file = world.path("it.memprof");
        let mut run = world.tool(["run", "--no-symbolize", "--wait-children", "--output"]);
        run.arg(&file).arg("--").arg(becomes).arg(how).arg(program);
        let ran = wait(&world, run);
        assert_eq!(ran.code, 0, "{how}: {}", ran.stderr);
        let capture = Capture::new(world, file);
        capture.assert_sound();
        let child = u64::from(how != "spawns");
        let found = [3201, 3202, 1001].map(|size| frees(&capture, size));
        assert_eq!(found, [1, child, 1], "{how}: {}", ran.stderr);
        assert!(!ran.stderr.contains("could not join"), "{how}: {}", ran.stderr);
    }
}

/// Check that a program of another user, whom anybody can tell where to connect, is not recorded unless it shows the
/// key; and that the recording reports how many tried.
#[test]
fn strangers_are_not_recorded() {
    let Some((world, agent, program)) = world_for_others() else { return };
    let recorded = Recorded::begin(&world);
    // As everybody sees it.
    let sockets = fs::read_to_string("/proc/net/unix").expect("it can be read");
    let is_listed = |name: &str| sockets.lines().any(|line| line.ends_with(name));
    assert!(is_listed(&recorded.socket) && !sockets.contains(&recorded.key));
    let wrong = recorded.key.chars().rev().collect::<String>();
    for key in [None, Some(wrong.as_str()), Some("0"), Some("00000000000000000000000000000000")] {
        assert_eq!(run_as_nobody(&world, &agent, &recorded.socket, key, &program).code, 0, "{key:?}");
    }
    assert_eq!(run_as_nobody(&world, &agent, &recorded.socket, Some(&recorded.key), &program).code, 0);
    // Programs of the recording's own user need no key.
    let mut own = world.command(&program);
    own.env("LD_PRELOAD", &agent).env("SYSPROF_MEMPROF_SOCKET", &recorded.socket);
    assert_eq!(wait(&world, own).code, 0);
    let key = recorded.key.clone();
    let (ran, capture) = recorded.end(world);
    assert_eq!((frees(&capture, 1001), capture.number("/lost/events")), (2, 0));
    let remark = "could not join, since they did not present the key of this recording (SYSPROF_MEMPROF_KEY): 4, most of them of uid 65534.";
    assert!(ran.stderr.contains(remark), "{}", ran.stderr);
    let bytes = fs::read(capture.file()).expect("it is ours");
    let holds = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(!holds(&key) && !ran.stderr.contains(&key), "the key is nowhere but in environments");
}

/// Check that a user who keeps connecting and says nothing stops nobody else from joining, be it root or the same
/// user with the key, and does not delay the end.
#[test]
fn silent_strangers_keep_nobody_out() {
    let Some((world, agent, program)) = world_for_others() else { return };
    let recorded = Recorded::begin(&world);
    let name = recorded.socket.strip_prefix('@').expect("it is abstract");
    let knocks = world.path("knocks_in_vain");
    copy_program(c("knocks_in_vain").flags(["-O1"]).build(), &knocks);
    let mut flood = world.command(&knocks);
    flood.arg(name);
    let flood = start(&world, flood);
    wait_for("the flood", || flood.stdout().contains("knocking"));
    for _ in 0..10 {
        assert_eq!(run_as_nobody(&world, &agent, &recorded.socket, Some(&recorded.key), &program).code, 0);
        let mut own = world.command(&program);
        own.env("LD_PRELOAD", &agent).env("SYSPROF_MEMPROF_SOCKET", &recorded.socket);
        assert_eq!(wait(&world, own).code, 0);
    }
    let (_, capture) = recorded.end(world);
    drop(flood);
    capture.assert_sound();
    assert_eq!(frees(&capture, 1001), 20);
}

/// Check that the mode and group of a socket's file determine which other users join, and that nobody does unless
/// that was requested.
#[test]
fn rights_of_a_socket_say_who_joins() {
    let cases: [(&[&str], u32, u64); 4] = [
        (&[], 0o600, 0),
        (&["--socket-mode", "666"], 0o666, 1),
        (&["--socket-group", "65534"], 0o660, 1),
        (&["--socket-group", "0"], 0o660, 0),
    ];
    for (options, mode, joins) in cases {
        let Some((world, agent, program)) = world_for_others() else { return };
        let (socket, file) = (world.path("socket"), world.path("all.memprof"));
        let mut record = world.tool(["record", "--no-symbolize", "--listen"]);
        record.arg(&socket).args(options).arg("--output").arg(&file);
        let collector = start(&world, record);
        wait_for("the collector", || collector.stderr().contains("COMMAND\n"));
        assert_eq!(fs::metadata(&socket).expect("it listens").mode() & 0o7777, mode, "{options:?}");
        let name = socket.to_str().expect("it is text");
        assert_eq!(run_as_nobody(&world, &agent, name, None, &program).code, 0, "{options:?}");
        collector.signal(Signal::INT);
        let ran = collector.wait();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(frees(&Capture::new(world, file), 1001), joins, "{options:?}");
    }
}

/// Check that rights without effect are refused: for a socket without a file, and for a recording that is not root's.
#[test]
fn rights_without_effect_are_refused() {
    let world = World::new();
    let refused = world.tool(["record", "--listen", "@a", "--socket-mode", "666", "--output", "a.memprof"]);
    let ran = wait(&world, refused);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("has no file whose mode"), "{}", ran.stderr);
    assert!(!world.path("a.memprof").exists());
    if fs::metadata(world.folder()).is_ok_and(|folder| folder.uid() != 0) {
        return skip("another user", "becoming one is for root");
    }
    fs::set_permissions(world.folder(), PermissionsExt::from_mode(0o777)).expect("the folder is ours");
    let tool = world.path("sysprof-memprof");
    copy_program(crate::harness::product(), &tool);
    let mut refused = world.command(&tool);
    refused.args(["record", "--listen", "socket", "--socket-mode", "666"]).uid(NOBODY).gid(NOBODY);
    let ran = wait(&world, refused);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("run this as root, or leave out --socket-mode"), "{}", ran.stderr);
}
