//! The process between fork and execve.
//!
//! It may be a copy of a process with threads, whose locks will never be released in the copy. So everything that
//! needs memory is prepared before the fork; afterwards only system calls and arithmetic on existing data are
//! allowed.

use super::environment::MAX_MESSAGE;
use super::inherited;
use crate::base::perf_event;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;
use std::ffi::{CString, c_char};
use std::io;
use std::os::fd::OwnedFd;

/// Most variables in a message.
const MAX_VARIABLES: usize = 8;

/// Everything the process needs to become the target.
pub(super) struct Plan {
    path: CString,
    /// Owns the strings that `argv` and `envp` point to, those of `envp` last.
    strings: Vec<CString>,
    argv: Vec<*const c_char>,
    /// The inherited variables, then room for those in the message, then null.
    envp: Vec<*const c_char>,
    inherited: usize,
    message: Vec<u8>,
    /// The process will be sampled.
    is_sampled: bool,
}

/// The parent's ends of the pipes.
pub(super) struct Forked {
    pub(super) pid: Pid,
    /// Takes the message; closed without one, the process ends.
    pub(super) go: OwnedFd,
    /// Delivers the errno of a failed execve, or end of file.
    pub(super) failed: OwnedFd,
}

impl Plan {
    pub(super) fn new(
        path: CString,
        arguments: Vec<CString>,
        environment: Vec<CString>,
        is_sampled: bool,
    ) -> Plan {
        let pointers = |strings: &[CString], spare: usize| {
            let mut pointers: Vec<_> = strings.iter().map(|text| text.as_ptr()).collect();
            pointers.resize(pointers.len() + spare + 1, std::ptr::null());
            pointers
        };
        Plan {
            argv: pointers(&arguments, 0),
            envp: pointers(&environment, MAX_VARIABLES),
            inherited: environment.len(),
            path,
            // Moving a CString does not move its bytes.
            strings: arguments.into_iter().chain(environment).collect(),
            message: vec![0; MAX_MESSAGE],
            is_sampled,
        }
    }

    /// Creates the process.
    pub(super) fn fork(mut self) -> io::Result<Forked> {
        let (go_read, go) = pipe_with(PipeFlags::CLOEXEC)?;
        let (failed, failed_write) = pipe_with(PipeFlags::CLOEXEC)?;
        // SAFETY: the child's branch calls async-signal-safe functions only and never returns.
        let pid = unsafe { libc::fork() };
        match pid {
            0 => {
                // Copies in the parent would keep the pipes from closing.
                drop(go);
                drop(failed);
                self.become_target(&go_read, &failed_write)
            }
            _ => {
                let error = io::Error::last_os_error();
                let pid = Pid::from_raw(pid).filter(|_| pid > 0).ok_or(error)?;
                Ok(Forked { pid, go, failed })
            }
        }
    }

    fn become_target(&mut self, go: &OwnedFd, failed: &OwnedFd) -> ! {
        if self.is_sampled {
            perf_event::await_first();
        }
        if let Some(length) = read_message(go, &mut self.message) {
            self.add_variables(length);
            inherited::restore();
            // SAFETY: the path is a C string, and both lists are null-terminated lists of C strings of this plan.
            unsafe { libc::execve(self.path.as_ptr(), self.argv.as_ptr(), self.envp.as_ptr()) };
            // SAFETY: the address of this thread's errno is always readable.
            let errno = unsafe { *errno_address() };
            // A failure cannot be reported: the parent then sees no errno and assumes that we were killed.
            let _ = rustix::io::write(failed, &errno.to_ne_bytes());
        }
        // SAFETY: ends this process without running any code of the copied one.
        unsafe { libc::_exit(127) }
    }

    /// Points entries of `envp` to the strings in the message, which ends with a NUL byte: that of an inherited variable of
    /// the same name, or a spare one.
    fn add_variables(&mut self, length: usize) {
        let Some(message) = self.message.get(..length) else { return };
        let mut spare = self.inherited..self.inherited + MAX_VARIABLES;
        let strings = message.split_inclusive(|byte| *byte == 0).filter(|text| text.last() == Some(&0));
        for text in strings {
            let Some(name) = text.split_inclusive(|byte| *byte == b'=').next() else { continue };
            let inherited = self.strings.len() - self.inherited;
            let mut inherited = self.strings.iter().skip(inherited).map(CString::as_bytes);
            let place = inherited.position(|inherited| inherited.starts_with(name)).or_else(|| spare.next());
            if let Some(place) = place.and_then(|place| self.envp.get_mut(place)) {
                *place = text.as_ptr().cast();
            }
        }
    }
}

/// Reads one message; `None` when the parent is gone.
fn read_message(go: &OwnedFd, into: &mut [u8]) -> Option<usize> {
    let mut length = [0; 4];
    read_exact(go, &mut length)?;
    let length = usize::try_from(u32::from_ne_bytes(length)).ok()?;
    read_exact(go, into.get_mut(..length)?)?;
    Some(length)
}

fn read_exact(from: &OwnedFd, into: &mut [u8]) -> Option<()> {
    let mut done = 0;
    while done < into.len() {
        match rustix::io::read(from, into.get_mut(done..)?) {
            Ok(0) => return None,
            Ok(count) => done += count,
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    Some(())
}

/// Location of this thread's errno.
fn errno_address() -> *const i32 {
    // SAFETY: it has no preconditions.
    unsafe { libc::__errno_location() }
}
