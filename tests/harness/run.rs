//! Processes with a time limit. Streams go to files, so that no process waits for a pipe to be read.

use super::{World, wait_for};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Time limit of one process: far above what any needs, even on a loaded machine, where Spark takes minutes.
const LIMIT: Timespec = Timespec { tv_sec: 400, tv_nsec: 0 };

/// What a process left when it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Its exit code, or 128 plus the signal that killed it, as in a shell.
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Ran {
    /// Standard output as text.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("programs of the tests print UTF-8")
    }
}

/// A running process, the leader of a group of its own.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
    command: String,
}

/// Starts a command with its streams in files of the world.
pub(crate) fn start(world: &World, mut command: Command) -> Running {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let stream = |name: &str| world.path(&format!("{name}.{number}"));
    let (stdout, stderr) = (stream("stdout"), stream("stderr"));
    let create = |path: &PathBuf| Stdio::from(File::create(path).expect("the folder is ours"));
    command.stdin(Stdio::null()).stdout(create(&stdout)).stderr(create(&stderr)).process_group(0);
    let child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    Running { child, stdout, stderr, command: format!("{command:?}") }
}

/// Runs a command to its end.
pub(crate) fn wait(world: &World, command: Command) -> Ran {
    start(world, command).wait()
}

impl Running {
    /// Waits for the end. A process that does not end in time is killed with its group, and the test fails.
    pub(crate) fn wait(mut self) -> Ran {
        let pid = self.pid();
        let ended = pidfd_open(pid, PidfdFlags::empty())
            .and_then(|process| poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&LIMIT)));
        if ended == Ok(0) {
            // It may have ended at this moment, and its group with it.
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let status = self.child.wait().expect("nobody else waits for it");
        let read = |path| std::fs::read(path).expect("streams are files of ours");
        let (stdout, stderr) = (read(&self.stdout), read(&self.stderr));
        let stderr = String::from_utf8_lossy(&stderr).into_owned();
        assert!(
            ended == Ok(1),
            "took too long, or cannot be waited for ({ended:?}): {}\n{stderr}",
            self.command
        );
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        Ran { code: code.expect("a process that ended has exited or was killed"), stdout, stderr }
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("it was not waited for yet");
    }

    /// Stops it, and waits until each of its threads has stopped, which takes longer than the signal.
    pub(crate) fn stop(&self) {
        self.signal(Signal::STOP);
        let tasks = format!("/proc/{}/task", self.pid().as_raw_nonzero());
        wait_for("all threads to stop", || {
            let mut tasks = std::fs::read_dir(&tasks).expect("it was not waited for yet").flatten();
            tasks.all(|task| {
                // A thread that is gone does nothing.
                std::fs::read_to_string(task.path().join("stat")).map_or(true, |stat| stat.contains(") T "))
            })
        });
    }

    /// What it has written to standard output so far.
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.stdout).unwrap_or_default()).into_owned()
    }

    /// What it has written to standard error so far.
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.stderr).unwrap_or_default()).into_owned()
    }
}

impl Drop for Running {
    /// A failing test leaves no process behind.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process_group(self.pid(), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}
