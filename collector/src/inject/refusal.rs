//! Why the agent cannot be loaded into a process.

use std::fs;
use std::io;
use std::path::PathBuf;

/// Why the agent cannot be loaded into a process now.
#[derive(Debug, thiserror::Error)]
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
         SYSPROF_MEMPROF_DIR; for services of other users, install it with sysprof-memprof install-agent", path.display()
    )]
    Unreachable {
        /// The agent's file.
        path: PathBuf,
    },
    /// The loader refused the agent.
    #[error(
        "its dynamic loader refuses the agent: {text}. If it may not read the file, install one that it may \
         read with sysprof-memprof install-agent"
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
    Deaf,
    /// The agent looks for its doorbell elsewhere.
    #[error("it finds no doorbell: run sysprof-memprof install-agent as root to make one for all users")]
    NoDoorbell,
    /// Some of its words could not be changed.
    #[error("its tables of functions cannot be changed: something protects them, as memory sealing does")]
    Sealed,
    /// The agent's file is of another version.
    #[error("the agent is of another version: run sysprof-memprof install-agent again")]
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
    System(io::Error),
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
pub(super) fn check(pid: u32) -> Result<(), Refusal> {
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
}
