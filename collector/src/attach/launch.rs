//! Starts the target with the agent in its environment.
//!
//! The capture is named after the target's pid, and the agent needs the socket of a running recording. So the process
//! is created first, waits while the recording begins, and only then becomes the target:
//!
//! ```text
//!   caller                                        child: a copy of the caller
//!   Launch::prepare ───── fork ─────────────────► waits on the pipe "go"
//!     pid is known: start the recording             (end of file: the caller is gone, exit)
//!   Prepared::go ──────── variables ────────────► puts them into its environment, execve
//!     waits on the pipe "failed"
//!       end of file  ◄─── closed by execve ──────── it is the target now
//!       an errno     ◄─── written ───────────────── it is not, exit
//! ```
//!
//! The target runs as it would without us: same terminal and process group, same standard streams, signals ignored
//! and blocked as we found them, and none of our descriptors. The only difference are the variables of
//! [`Environment`].

#[expect(unsafe_code, reason = "fork and execve")]
mod child;
mod environment;
#[expect(unsafe_code, reason = "looks at the process before the Rust runtime changes it")]
mod inherited;
#[expect(unsafe_code, reason = "asks the kernel what an ended child has used")]
mod reap;
pub(crate) mod virtual_machine;

use super::target::Target;
use rustix::process::{Pid, Signal as Number, WaitOptions};
use std::ffi::{CString, OsString};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

pub use crate::base::signals::{Blocked, Origin, Received, Signal, Signals, block_signals};
pub use crate::proc::family::{Descendant, adopt_orphans, descendants, has_children};
pub use environment::Environment;
pub use inherited::lift_limits;
pub use reap::{Ended, reap};

/// A command ready to start.
#[derive(Debug)]
pub struct Launch {
    path: CString,
    arguments: Vec<CString>,
}

/// A process waiting to become the target. Dropped without [`Prepared::go`], it ends without having run anything.
#[derive(Debug)]
pub struct Prepared {
    child: Child,
    go: Option<std::fs::File>,
    failed: std::fs::File,
}

/// The started target.
#[derive(Clone, Copy, Debug)]
pub struct Child {
    pid: Pid,
}

/// The system could not execute the target, for this reason.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotExecuted(#[from] pub io::Error);

impl Launch {
    /// Prepares `command`, whose first element is its name, to be executed as `target`.
    ///
    /// # Errors
    /// When an argument contains a NUL byte, which cannot be passed on.
    pub fn new(target: &Target, command: &[OsString]) -> io::Result<Launch> {
        let text = |bytes: &[u8]| CString::new(bytes).map_err(io::Error::from);
        let path = text(target.path.as_os_str().as_bytes())?;
        let mut arguments = Vec::new();
        if target.by_shell {
            // As in execvp: the shell replaces argv[0], and the file is its first argument.
            let shell = text(target.program.as_os_str().as_bytes())?;
            arguments.extend([shell.clone(), path]);
            for argument in command.iter().skip(1) {
                arguments.push(text(argument.as_bytes())?);
            }
            return Ok(Launch { path: shell, arguments });
        }
        for argument in command {
            arguments.push(text(argument.as_bytes())?);
        }
        Ok(Launch { path, arguments })
    }

    /// Creates the process that will become the target, and will be sampled or not.
    ///
    /// # Errors
    /// When the system refuses a process or a pipe.
    pub fn prepare(self, is_sampled: bool) -> io::Result<Prepared> {
        let plan = child::Plan::new(self.path, self.arguments, environment::inherited()?, is_sampled);
        let forked = plan.fork()?;
        Ok(Prepared {
            child: Child { pid: forked.pid },
            go: Some(forked.go.into()),
            failed: forked.failed.into(),
        })
    }
}

impl Prepared {
    /// Pid of the waiting process.
    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Lets the process become the target, and waits until it has. If it is killed meanwhile, it counts as a target
    /// that was killed.
    ///
    /// # Errors
    /// When execution failed; the process is then gone.
    pub fn go(mut self, environment: &Environment) -> Result<Child, NotExecuted> {
        let message = environment.message()?;
        if let Some(mut go) = self.go.take()
            && let Err(error) = go.write_all(&message)
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            return Err(error.into());
        }
        let mut errno = Vec::new();
        self.failed.read_to_end(&mut errno)?;
        let Ok(errno) = <[u8; 4]>::try_from(errno) else { return Ok(self.child) };
        self.child.wait()?;
        Err(io::Error::from_raw_os_error(i32::from_ne_bytes(errno)).into())
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if let Some(go) = self.go.take() {
            // Closing this pipe tells the process to exit; it has nothing else to do.
            drop(go);
            let _ = self.child.wait();
        }
    }
}

impl Child {
    /// Pid of the target.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Passes a signal on. A target that has already gone is not an error.
    pub fn signal(&self, signal: Signal) {
        if let Some(number) = Number::from_named_raw(signal.number()) {
            let _ = rustix::process::kill_process(self.pid, number);
        }
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// When it is not, or no longer, a child of this process.
    pub fn wait(&self) -> io::Result<ExitStatus> {
        loop {
            match rustix::process::waitpid(Some(self.pid), WaitOptions::empty()) {
                Ok(Some((_, status))) => return Ok(ExitStatus::from_raw(status.as_raw())),
                Ok(None) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests;
