//! Why the agent cannot be loaded into a process.

use serde::{Deserialize, Serialize, Serializer};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A tracer of ours has finished by then, whether it injects the agent, holds a process, or puts back what a command
/// that was killed has left.
const BUSY: Duration = Duration::from_secs(3);
const NAP: Duration = Duration::from_millis(10);

/// Why the agent cannot be loaded into a process now.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
pub enum Refusal {
    /// No process has this pid, or none any more.
    #[error("there is no process {pid}")]
    NoProcess {
        /// Its pid.
        pid: u32,
    },
    /// The kernel does not let us trace it.
    #[error("the system forbids tracing it{}", why_forbidden())]
    Forbidden,
    /// It is traced already.
    #[error("process {by} is tracing it, as a debugger does: end that first")]
    Traced {
        /// The tracer.
        by: u32,
    },
    /// It is stopped.
    #[error("it is stopped: resume it first, with kill -CONT")]
    Stopped,
    /// It waits where nothing can stop it.
    #[error(
        "all its threads wait uninterruptibly in the kernel, as for the child of a vfork or a disk: try \
         again"
    )]
    Unstoppable,
    /// It is not a dynamically linked program for this processor.
    #[error("it is statically linked, or not for this processor: it cannot load a library")]
    Static,
    /// Its C library is not glibc.
    #[error("its C library is not glibc")]
    NotGlibc,
    /// Its C library is too old.
    #[error("its C library is older than glibc 2.34")]
    OldGlibc,
    /// It has restricted its system calls.
    #[error("it restricts its system calls (seccomp): loading a library could kill it")]
    Confined,
    /// It has a shadow stack, which checks its returns.
    #[error(
        "the processor checks its return addresses (shadow stack), which a call from outside would violate"
    )]
    ShadowStack,
    /// The executable defines its own `malloc`.
    #[error(
        "its allocator is part of its executable, whose own calls can only be redirected at its start: \
         start it with the agent preloaded, or with `sysprof-memprof run`"
    )]
    OwnAllocator,
    /// It has another root directory, or may not read the file.
    #[error(
        "it does not see the agent {}: in a container, put a copy there and name its folder with \
         SYSPROF_MEMPROF_DIR; for services of other users, install it with sysprof-memprof agent install", path.display()
    )]
    Unreachable {
        /// The agent's file.
        #[serde(serialize_with = "legible")]
        path: PathBuf,
    },
    /// The loader refused the agent.
    #[error(
        "its dynamic loader refuses the agent: {text}. If it may not read the file, install one that it may \
         read with sysprof-memprof agent install"
    )]
    Load {
        /// The loader's message.
        text: String,
    },
    /// No thread came to a good moment.
    #[error(
        "none of its threads reached a point at which it could be called; of the last one, {last}. Try \
         again"
    )]
    NoMoment {
        /// Why the last thread was not at one.
        last: String,
    },
    /// The agent was preloaded, but found no doorbell.
    #[error("it has the agent from its start, and will not look for a doorbell again")]
    WithoutDoorbell,
    /// The agent looks for its doorbell elsewhere.
    #[error("it finds no doorbell: run sysprof-memprof agent install as root to make one for all users")]
    NoDoorbell,
    /// Some of its words could not be changed.
    #[error("its tables of functions cannot be changed: something protects them, as memory sealing does")]
    Sealed,
    /// The agent's file is of another version.
    #[error("the agent is of another version: run sysprof-memprof agent install again")]
    OtherVersion,
    /// Loading crashed; the process goes on where it was.
    #[error("loading the agent ended with signal {signal}. The process goes on; please report this")]
    Crashed {
        /// Number of the signal.
        signal: i32,
    },
    /// A thread was made to call a function and has not returned.
    #[error(
        "its thread {thread} has not returned from loading the agent for {seconds} s, as happens when the \
         agent's disk does not answer. It is left there, and resumes by itself where it was as soon as it \
         returns. The agent may be loaded then, and does nothing. As root, see /proc/{thread}/stack for \
         what it waits for; try again when that is over"
    )]
    Stuck {
        /// The thread's number.
        thread: u32,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The system refused something.
    #[error("{0}")]
    System(#[serde(with = "system_error")] io::Error),
}

impl Refusal {
    /// What a system error means for this process.
    pub(crate) fn of(pid: u32, error: io::Error) -> Refusal {
        match (error.kind(), error.raw_os_error()) {
            (_, Some(libc::ESRCH)) | (io::ErrorKind::NotFound, _) => Refusal::NoProcess { pid },
            (io::ErrorKind::PermissionDenied, _) => Refusal::Forbidden,
            _ => Refusal::System(error),
        }
    }
}

/// Tries until no tracer of ours is in the way, or for so long that it is not about to finish.
pub(crate) fn once_free<T>(mut attempt: impl FnMut() -> Result<T, Refusal>) -> Result<T, Refusal> {
    let deadline = Instant::now() + BUSY;
    loop {
        match attempt() {
            // No thread is stopped while this waits: the failed attempt was dropped.
            Err(Refusal::Traced { by }) if is_passing(by) && Instant::now() < deadline => {
                std::thread::sleep(NAP);
            }
            result => return result,
        }
    }
}

/// True for a tracer that executes what this process executes, and for one that has ended since it was seen.
pub(crate) fn is_passing(tracer: u32) -> bool {
    let executes = |process: &dyn std::fmt::Display| fs::metadata(format!("/proc/{process}/exe"));
    match (executes(&tracer), executes(&"self")) {
        (Ok(theirs), Ok(own)) => (theirs.dev(), theirs.ino()) == (own.dev(), own.ino()),
        // A thread that is ending executes nothing, shortly before it is gone.
        (Err(error), _) => {
            error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
        }
        (Ok(_), Err(_)) => false,
    }
}

/// Why a thread could not be seized; `None` if it is gone.
pub(crate) fn unseized(pid: u32, thread: u32, error: io::Error) -> Option<Refusal> {
    let status = fs::read_to_string(format!("/proc/{pid}/task/{thread}/status")).unwrap_or_default();
    let value = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map_or("", str::trim);
    match value("TracerPid:").parse() {
        _ if status.is_empty() || value("State:").starts_with(['Z', 'X']) => None,
        Ok(by) if by != 0 => Some(Refusal::Traced { by }),
        _ => match Refusal::of(pid, error) {
            Refusal::NoProcess { .. } => None,
            refusal => Some(refusal),
        },
    }
}

/// A path is only shown.
fn legible<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// A system's error as its number, or the text of one that has none.
mod system_error {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::io;

    pub(crate) fn serialize<S: Serializer>(error: &io::Error, serializer: S) -> Result<S::Ok, S::Error> {
        error.raw_os_error().ok_or_else(|| error.to_string()).serialize(serializer)
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<io::Error, D::Error> {
        let error = Result::<i32, String>::deserialize(deserializer)?;
        Ok(error.map_or_else(io::Error::other, io::Error::from_raw_os_error))
    }
}

/// What to change so that it is permitted.
fn why_forbidden() -> &'static str {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    match scope.trim() {
        "1" if !rustix::process::geteuid().is_root() => {
            ": kernel.yama.ptrace_scope is 1, so only root may. Run this as root"
        }
        "2" => ": kernel.yama.ptrace_scope is 2, so only root may, with CAP_SYS_PTRACE",
        "3" => ": kernel.yama.ptrace_scope is 3 until the next boot",
        _ => ": only its user and root may, and nobody in a container without CAP_SYS_PTRACE",
    }
}

/// Fails for processes where it is clear in advance that this will not work.
pub(crate) fn check(pid: u32) -> Result<(), Refusal> {
    let status =
        fs::read_to_string(format!("/proc/{pid}/status")).map_err(|error| Refusal::of(pid, error))?;
    judge(&status)
}

fn judge(status: &str) -> Result<(), Refusal> {
    let value = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map_or("", str::trim)
    };
    match value("TracerPid").parse() {
        Ok(0) | Err(_) => {}
        Ok(by) => return Err(Refusal::Traced { by }),
    }
    if value("State").starts_with(['T', 't']) {
        return Err(Refusal::Stopped);
    }
    if !matches!(value("Seccomp"), "" | "0") {
        return Err(Refusal::Confined);
    }
    if value("x86_Thread_features").contains("shstk") {
        return Err(Refusal::ShadowStack);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that the reasons for refusal are read from a process's status.
    #[test]
    fn status_tells_who_is_refused() {
        let sleeping = "Name:\tx\nState:\tS (sleeping)\nTracerPid:\t0\nSeccomp:\t0\nx86_Thread_features:\t\n";
        assert!(judge(sleeping).is_ok() && judge("").is_ok());
        let with = |from: &str, to: &str| judge(&sleeping.replace(from, to));
        assert!(matches!(with("S (sleeping)", "T (stopped)"), Err(Refusal::Stopped)));
        assert!(matches!(with("TracerPid:\t0", "TracerPid:\t77"), Err(Refusal::Traced { by: 77 })));
        assert!(matches!(with("Seccomp:\t0", "Seccomp:\t2"), Err(Refusal::Confined)));
        assert!(matches!(with("features:\t", "features:\tshstk wrss"), Err(Refusal::ShadowStack)));
    }

    /// Check that tracers of ours, and those that have ended since they were seen, are not in the way for long.
    #[test]
    fn who_traces_in_passing_is_waited_for() {
        let ended = std::thread::spawn(|| rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned());
        let ended = ended.join().unwrap();
        for by in [std::process::id(), ended] {
            let mut attempts = 0..3;
            let result = once_free(|| attempts.next().map_or(Ok(()), |_| Err(Refusal::Traced { by })));
            assert!(result.is_ok(), "{by}: {result:?}");
        }
        let mut other = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let by = other.id();
        // Until it has executed the program, it executes what we do.
        let is_other = || fs::read(format!("/proc/{by}/comm")).is_ok_and(|name| name == b"sleep\n");
        while !is_other() {
            std::thread::sleep(NAP);
        }
        let refused = once_free(|| Err::<(), _>(Refusal::Traced { by }));
        assert!(matches!(refused, Err(Refusal::Traced { .. })));
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
