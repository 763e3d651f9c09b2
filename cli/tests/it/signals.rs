//! Signals under `run`: the target has them, the recording goes on to its end.

use crate::support::{Ran, TOOL, World, eventually, ran};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, Stdio};

/// A target that says which signal it caught, each time, and ends after a while without another one.
const CATCHING: &str = "
    end() { echo \"caught $1\"; sleep 0.3; exit 9; }
    trap 'end INT' INT; trap 'end QUIT' QUIT; trap 'end TERM' TERM; trap 'end HUP' HUP
    echo ready
    while :; do sleep 0.02; done";

/// The tool as a terminal starts it. What starts these tests may ignore the keys' signals, as a shell does for what it
/// starts in the background, and a target that inherits that could not catch them.
const FOREGROUND: [&str; 3] = ["env", "--default-signal=INT,QUIT,TERM,HUP", TOOL];

/// Runs the target, sends a signal to `run` alone once the target is ready, and gives what is left.
fn signalled(signal: Signal) -> Ran {
    let world = World::new();
    let mut run = world.command(FOREGROUND[0]);
    run.args(&FOREGROUND[1..]).args(["run", "-q", "--", "sh", "-c", CATCHING]);
    let mut child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut ready = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    kill_process(Pid::from_child(&child), signal).unwrap();
    let left = ran(child.wait_with_output().unwrap());
    assert_eq!(world.captures().len(), 1, "the capture is finished: {}", left.stderr);
    left
}

/// Check that signals which a process sends to `run` alone are passed on, once, and that the target decides.
#[test]
fn signals_from_processes_are_passed_on() {
    for (signal, name) in
        [(Signal::TERM, "TERM"), (Signal::HUP, "HUP"), (Signal::INT, "INT"), (Signal::QUIT, "QUIT")]
    {
        let ran = signalled(signal);
        assert_eq!((ran.code, ran.stdout), (Some(9), format!("caught {name}\n")), "{name}: {}", ran.stderr);
    }
}

/// Check that a flood of signals, which goes on while the capture is finished, neither ends the recording nor harms
/// it, and that the exit code stays the target's.
#[test]
fn flood_of_signals_is_survived() {
    let world = World::new();
    let target = "trap '' INT TERM HUP; echo ready; sleep 0.5; exit 6";
    let mut run = world.tool(["run", "-o", "flood.memprof", "--", "sh", "-c", target]);
    let mut child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    let mut sent = 0;
    let status = loop {
        for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::CHILD] {
            kill_process(Pid::from_child(&child), signal).unwrap();
            sent += 1;
        }
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
    };
    assert_eq!(status.code(), Some(6), "after {sent} signals");
    let info = world.run(["info", "--no-symbolize", "flood.memprof"]);
    assert_eq!((info.code, info.stderr.as_str()), (Some(0), ""));
}

/// A terminal of our own, and a program in its foreground.
struct Terminal {
    master: File,
    child: Child,
    shown: String,
}

impl Terminal {
    /// Runs the command as the terminal's session leader.
    fn run(mut command: Command, arguments: &[&str]) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave =
            OpenOptions::new().read(true).write(true).open(OsStr::from_bytes(name.as_bytes())).unwrap();
        let stream = || Stdio::from(slave.try_clone().unwrap());
        command.arg("--ctty").args(FOREGROUND).arg("run").args(arguments).env("TERM", "xterm");
        let child = command.stdin(stream()).stdout(stream()).stderr(stream()).spawn().unwrap();
        Terminal { master: File::from(master), child, shown: String::new() }
    }

    /// Reads until `text` was shown.
    fn wait_for(&mut self, text: &str) {
        eventually(text, || {
            self.read();
            self.shown.contains(text)
        });
    }

    /// What a key does.
    fn press(&mut self, key: u8) {
        self.master.write_all(&[key]).unwrap();
    }

    /// Reads to the end and gives everything shown and the exit code.
    fn end(mut self) -> (String, Option<i32>) {
        // The end of a terminal is an input error.
        while self.read() {}
        let code = self.child.wait().unwrap().code();
        (self.shown, code)
    }

    fn read(&mut self) -> bool {
        let mut bytes = [0; 4096];
        match self.master.read(&mut bytes) {
            Ok(count) if count > 0 => {
                self.shown.push_str(&String::from_utf8_lossy(&bytes[..count]));
                true
            }
            _ => false,
        }
    }
}

/// Check that ^C and ^\ reach the target from the terminal, once, and that its exit code is ours then too.
#[test]
fn keys_reach_the_target_once() {
    for (key, name) in [(0x03, "INT"), (0x1c, "QUIT")] {
        let world = World::new();
        let mut terminal = Terminal::run(world.command("setsid"), &["-q", "--", "sh", "-c", CATCHING]);
        terminal.wait_for("ready");
        terminal.press(key);
        let (shown, code) = terminal.end();
        assert_eq!((shown.matches(&format!("caught {name}")).count(), code), (1, Some(9)), "{shown:?}");
        assert_eq!(world.captures().len(), 1, "the capture is finished");
    }
}

/// Check that a target which dies of ^C is told like one that a signal killed, and its capture finished.
#[test]
fn target_killed_by_a_key_gives_130() {
    let world = World::new();
    let mut terminal =
        Terminal::run(world.command("setsid"), &["-q", "--", "sh", "-c", "echo ready; exec sleep 60"]);
    terminal.wait_for("ready");
    terminal.press(0x03);
    assert_eq!(terminal.end().1, Some(130));
    assert_eq!(world.captures().len(), 1);
}

/// Check that progress is shown on a terminal, and not while the target draws the terminal itself.
#[test]
fn progress_is_shown_on_terminals_in_ordinary_mode() {
    let world = World::new();
    let mut terminal = Terminal::run(world.command("setsid"), &["--", "sh", "-c", "read line; exit 0"]);
    terminal.wait_for("[recording]");
    terminal.wait_for("events/s");
    terminal.press(b'\n');
    assert_eq!(terminal.end().1, Some(0));

    // It ends in that mode: between another one and the end of the target progress could be shown.
    let raw = "stty raw -echo; echo ready; sleep 1.5; exit 0";
    let mut terminal = Terminal::run(world.command("setsid"), &["--", "sh", "-c", raw]);
    terminal.wait_for("ready");
    let (shown, _) = terminal.end();
    assert!(!shown.split("ready").nth(1).unwrap_or_default().contains("[recording]"), "{shown:?}");
}

/// Check that `record` listens until it is interrupted, says how to start programs, and finishes its capture.
#[test]
fn record_ends_on_interrupt_and_term() {
    for signal in [Signal::INT, Signal::TERM] {
        let world = World::new();
        // As a shell starts it in the background.
        let mut record = world.command("env");
        record.args(["--ignore-signal=INT,QUIT", TOOL, "record", "--listen", "socket", "-o", "all.memprof"]);
        let mut child = record.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        let stderr = child.stderr.as_mut().unwrap();
        eventually("the socket's whole path", || {
            let mut bytes = [0; 256];
            let count = stderr.read(&mut bytes).unwrap();
            said.push_str(&String::from_utf8_lossy(&bytes[..count]));
            said.contains("COMMAND\n")
        });
        assert!(
            said.contains(&format!("SYSPROF_MEMPROF_SOCKET={}", world.path("work/socket").display())),
            "{said}"
        );
        kill_process(Pid::from_child(&child), signal).unwrap();
        let left = ran(child.wait_with_output().unwrap());
        assert_eq!((left.code, left.stdout.as_str()), (Some(0), ""), "{}", left.stderr);
        assert_eq!(world.captures(), ["all.memprof"]);
    }
}
