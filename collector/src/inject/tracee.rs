//! One thread of another process under `ptrace`.
//!
//! A tracee is seized, which it does not notice, stopped when it is to be looked at, and let go when this is dropped. All of that
//! happens in one thread of ours, as the kernel wants; when that thread ends, its tracees are free, whatever happened. One that has not
//! stopped cannot be let go, and is kept until it has.

use super::late;
use super::remote::go_on_unseen;
use libc::{c_int, c_long, c_uint, c_void, iovec, pid_t, user_regs_struct};
use std::io;
use std::mem::ManuallyDrop;
use std::time::{Duration, Instant};

/// Bytes of the largest vector state: AMX has 11 KiB.
const VECTOR: usize = 16 << 10;
/// `NT_X86_XSTATE`
const XSTATE: usize = 0x202;
/// Waits are busy ones for so long: a stop takes microseconds, and somebody stands still meanwhile.
const SOON: Duration = Duration::from_millis(2);
const NAP: Duration = Duration::from_micros(200);
/// Threads stop within this time but in the worst places of the kernel.
const LONG: Duration = Duration::from_millis(200);
/// Where `struct user` has them.
const DEBUG_REGISTERS: usize = std::mem::offset_of!(libc::user, u_debugreg);

/// `PTRACE_SECCOMP_GET_FILTER`
const SECCOMP_GET_FILTER: c_uint = 0x420c;
/// `PTRACE_EVENT_STOP`
const EVENT_STOP: c_int = 128;

/// Set of signals as the kernel has it.
pub(crate) type Mask = u64;

/// Why a thread does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// We have interrupted it, or its process is being stopped by somebody else.
    Interrupted,
    /// A signal is about to be delivered.
    Signal(c_int),
}

/// A seized thread.
#[derive(Debug)]
pub(crate) struct Tracee {
    thread: pid_t,
    stop: Option<Stop>,
    is_gone: bool,
    has_breakpoint: bool,
}

impl Tracee {
    /// Makes us the tracer of a thread, which goes on.
    pub(crate) fn seize(thread: u32) -> io::Result<Tracee> {
        let thread = thread.cast_signed();
        request(libc::PTRACE_SEIZE, thread, 0, 0)?;
        Ok(Tracee { thread, stop: None, is_gone: false, has_breakpoint: false })
    }

    /// Asks it to stop.
    pub(crate) fn interrupt(&self) -> io::Result<()> {
        request(libc::PTRACE_INTERRUPT, self.thread, 0, 0).map(drop)
    }

    /// Waits for the stop that was asked for; signals that come first are delivered. False when it has not stopped by the
    /// deadline: it is in the kernel then, and stops before it gets back from there.
    pub(crate) fn wait_interrupted(&mut self, deadline: Instant) -> io::Result<bool> {
        loop {
            match self.wait(deadline)? {
                None => return Ok(false),
                Some(Stop::Interrupted) => return Ok(true),
                Some(Stop::Signal(_)) => {
                    self.forget_breakpoint();
                    self.go(self.signal())?;
                }
            }
        }
    }

    /// True once it has stopped, for whatever reason.
    pub(crate) fn has_stopped(&mut self) -> io::Result<bool> {
        let has_stopped = self.look(libc::WNOHANG)?.is_some();
        self.forget_breakpoint();
        Ok(has_stopped)
    }

    /// It is not to have the signal of a breakpoint of ours, which would kill it.
    fn forget_breakpoint(&mut self) {
        let is_trap = self.has_breakpoint && self.stop == Some(Stop::Signal(libc::SIGTRAP));
        if is_trap && !self.is_signal_sent().unwrap_or(false) {
            self.forget_signal();
        }
    }

    /// True while the processor stops it somewhere.
    pub(crate) fn has_breakpoint(&self) -> bool {
        self.has_breakpoint
    }

    /// Lets it go on, with the signal that it stopped for.
    pub(crate) fn go_on(&mut self) -> io::Result<()> {
        self.go(self.signal())
    }

    /// Waits for its next stop, however far that is where there is no deadline.
    pub(crate) fn wait_for(&mut self, deadline: Option<Instant>) -> io::Result<Option<Stop>> {
        if let Some(deadline) = deadline {
            return self.wait(deadline);
        }
        loop {
            if let Some(stop) = self.look(0)? {
                return Ok(Some(stop));
            }
        }
    }

    /// Lets it go on up to an instruction, where it is stopped by the processor, or to the deadline, where it is interrupted; false
    /// then, and where that cannot be had.
    pub(crate) fn run_until(&mut self, address: u64, deadline: Instant) -> io::Result<bool> {
        if self.set_breakpoint(Some(address)).is_err() {
            return Ok(false);
        }
        let came = self.run_to_breakpoint(deadline);
        if !matches!(came, Ok(true)) && self.stop.is_none() {
            self.interrupt()?;
            if !self.wait_interrupted(Instant::now() + LONG)? {
                // It is let go of its breakpoint when it has stopped.
                return Ok(false);
            }
        }
        self.set_breakpoint(None)?;
        came
    }

    fn run_to_breakpoint(&mut self, deadline: Instant) -> io::Result<bool> {
        self.go(0)?;
        loop {
            match self.wait(deadline)? {
                None => return Ok(false),
                Some(Stop::Signal(libc::SIGTRAP)) => {
                    self.forget_signal();
                    return Ok(true);
                }
                Some(Stop::Signal(signal)) => self.go(signal)?,
                Some(_) => return Ok(false),
            }
        }
    }

    /// Has the processor stop it before an instruction, or no more.
    fn set_breakpoint(&mut self, address: Option<u64>) -> io::Result<()> {
        let thread = self.thread;
        let set = |register: usize, value: u64| {
            let place = DEBUG_REGISTERS + 8 * register;
            request(libc::PTRACE_POKEUSER, thread, place, value as usize).map(drop)
        };
        set(7, 0)?;
        self.has_breakpoint = false;
        if let Some(address) = address {
            set(0, address)?;
            // The first one, for this thread, for execution.
            set(7, 1)?;
            self.has_breakpoint = true;
        }
        Ok(())
    }

    /// The signal that it is to have when it goes on.
    pub(crate) fn signal(&self) -> c_int {
        if let Some(Stop::Signal(signal)) = self.stop { signal } else { 0 }
    }

    fn go(&mut self, signal: c_int) -> io::Result<()> {
        self.stop = None;
        request(libc::PTRACE_CONT, self.thread, 0, signal as usize).map(drop)
    }

    /// Waits for its next stop; `None` when there was none by the deadline.
    pub(crate) fn wait(&mut self, deadline: Instant) -> io::Result<Option<Stop>> {
        let begun = Instant::now();
        loop {
            if let Some(stop) = self.look(libc::WNOHANG)? {
                return Ok(Some(stop));
            }
            let now = Instant::now();
            if now >= deadline {
                return Ok(None);
            }
            if now - begun < SOON { std::thread::yield_now() } else { std::thread::sleep(NAP) }
        }
    }

    /// Its stop, if it has one or the flags say to wait for it. The end of a child of ours stays for whoever waits for that.
    fn look(&mut self, flags: c_int) -> io::Result<Option<Stop>> {
        match wait(self.thread, libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | flags) {
            Ok(None) => {
                // Whoever waits for all children of ours takes the stops of those, too.
                self.stop = self.ask();
                Ok(self.stop)
            }
            Ok(Some((libc::CLD_TRAPPED | libc::CLD_STOPPED, status))) => {
                let _ = wait(self.thread, libc::WSTOPPED | libc::WNOHANG);
                self.stop = Some(match status >> 8 {
                    // Of which other events were not asked for.
                    EVENT_STOP => Stop::Interrupted,
                    _ => Stop::Signal(status),
                });
                Ok(self.stop)
            }
            Ok(Some(_)) => {
                self.is_gone = true;
                if !is_child_of_ours(self.thread) {
                    let _ = wait(self.thread, libc::WEXITED | libc::WNOHANG);
                }
                Err(gone())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(_) => {
                self.is_gone = true;
                Err(gone())
            }
        }
    }

    /// The stop that it is in.
    fn ask(&self) -> Option<Stop> {
        let info = self.signal_info().ok()?;
        Some(if info.si_code >> 8 == EVENT_STOP { Stop::Interrupted } else { Stop::Signal(info.si_signo) })
    }

    /// Its registers. Only of a stopped thread, as all that follows.
    pub(crate) fn registers(&self) -> io::Result<user_regs_struct> {
        let mut registers = std::mem::MaybeUninit::<user_regs_struct>::zeroed();
        request(libc::PTRACE_GETREGS, self.thread, 0, registers.as_mut_ptr().expose_provenance())?;
        // SAFETY: all zeros are valid, and so is what the kernel wrote.
        Ok(unsafe { registers.assume_init() })
    }

    pub(crate) fn set_registers(&self, mut registers: user_regs_struct) -> io::Result<()> {
        let place = (&raw mut registers).expose_provenance();
        request(libc::PTRACE_SETREGS, self.thread, 0, place).map(drop)
    }

    /// Its vector registers and what belongs to them, as the processor saves them.
    pub(crate) fn vectors(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; VECTOR];
        let mut place = iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        request(libc::PTRACE_GETREGSET, self.thread, XSTATE, (&raw mut place).expose_provenance())?;
        bytes.truncate(place.iov_len);
        Ok(bytes)
    }

    pub(crate) fn set_vectors(&self, bytes: &mut [u8]) -> io::Result<()> {
        let mut place = iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        request(libc::PTRACE_SETREGSET, self.thread, XSTATE, (&raw mut place).expose_provenance()).map(drop)
    }

    /// The signals that it blocks.
    pub(crate) fn mask(&self) -> io::Result<Mask> {
        let mut mask: Mask = 0;
        request(
            libc::PTRACE_GETSIGMASK,
            self.thread,
            size_of::<Mask>(),
            (&raw mut mask).expose_provenance(),
        )?;
        Ok(mask)
    }

    pub(crate) fn set_mask(&self, mut mask: Mask) -> io::Result<()> {
        let place = (&raw mut mask).expose_provenance();
        request(libc::PTRACE_SETSIGMASK, self.thread, size_of::<Mask>(), place).map(drop)
    }

    /// A filter on its system calls, the last one being number 0, and `None` after the first: its instructions. Only root may see them.
    pub(crate) fn filter(&self, number: usize) -> io::Result<Option<Vec<[u8; 8]>>> {
        let ask = |place: usize| request(SECCOMP_GET_FILTER, self.thread, number, place);
        let length = match ask(0) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(None),
            length => length?,
        };
        // The kernel has them once and for all.
        let mut instructions = vec![[0; 8]; usize::try_from(length).unwrap_or(0)];
        ask(instructions.as_mut_ptr().expose_provenance())?;
        Ok(Some(instructions))
    }

    /// Writes a word of its memory, whatever the protection of that is.
    pub(crate) fn poke(&self, address: u64, word: u64) -> io::Result<()> {
        request(libc::PTRACE_POKEDATA, self.thread, address as usize, word as usize).map(drop)
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.thread.cast_unsigned()
    }

    /// It is not to have the signal that it stopped for.
    pub(crate) fn forget_signal(&mut self) {
        self.stop = Some(Stop::Interrupted);
    }

    /// It is to have a signal when it is let go.
    pub(crate) fn keep_signal(&mut self, signal: c_int) {
        self.stop = Some(Stop::Signal(signal));
    }

    /// True of a signal that somebody has sent, not the processor or the kernel.
    pub(crate) fn is_signal_sent(&self) -> io::Result<bool> {
        Ok(self.signal_info()?.si_code <= 0)
    }

    /// What it has stopped for; fails while it runs.
    fn signal_info(&self) -> io::Result<libc::siginfo_t> {
        let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
        request(libc::PTRACE_GETSIGINFO, self.thread, 0, info.as_mut_ptr().expose_provenance())?;
        // SAFETY: all zeros are valid, and so is what the kernel wrote.
        Ok(unsafe { info.assume_init() })
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_some()
    }
}

impl Drop for Tracee {
    fn drop(&mut self) {
        if self.is_gone {
            return;
        }
        if self.stop.is_none()
            && self.interrupt().is_ok()
            && matches!(self.wait_interrupted(Instant::now() + Duration::from_millis(100)), Ok(true))
        {
            go_on_unseen(self);
        }
        if self.is_gone {
            return;
        }
        if self.stop.is_none() {
            // It stops when it leaves the kernel, and would stand there until our thread ends.
            late::keep(ManuallyDrop::new(Tracee { ..*self }));
            return;
        }
        if self.has_breakpoint {
            let _ = self.set_breakpoint(None);
        }
        let _ = request(libc::PTRACE_DETACH, self.thread, 0, self.signal() as usize);
    }
}

/// What there is of a thread to be waited for: kind of change and status.
fn wait(thread: pid_t, options: c_int) -> io::Result<Option<(c_int, c_int)>> {
    let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: writes the description only, which is as large as the kernel wants.
    let waited = unsafe {
        libc::waitid(libc::P_PID, thread.cast_unsigned(), info.as_mut_ptr(), libc::__WALL | options)
    };
    if waited != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all zeros are valid, and so is what the kernel wrote.
    let info = unsafe { info.assume_init() };
    // SAFETY: it is all zeros, or that of a child.
    let pid = unsafe { info.si_pid() };
    // SAFETY: as above.
    let status = unsafe { info.si_status() };
    Ok((pid != 0).then_some((info.si_code, status)))
}

/// True of the first thread of a child of ours: its end is not for who traces it.
fn is_child_of_ours(thread: pid_t) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let number = |name: &str| -> Option<u32> {
        status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    number("Tgid:") == Some(thread.cast_unsigned()) && number("PPid:") == Some(std::process::id())
}

fn gone() -> io::Error {
    io::Error::from_raw_os_error(libc::ESRCH)
}

fn request(what: c_uint, thread: pid_t, address: usize, data: usize) -> io::Result<c_long> {
    let pointer = |number: usize| std::ptr::with_exposed_provenance_mut::<c_void>(number);
    // SAFETY: the kernel checks everything but what it writes to us: registers, vectors, masks and filters go to places that
    // outlive the call and are as large as said.
    let result = unsafe { libc::ptrace(what, thread, pointer(address), pointer(data)) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::epoll;
    use std::fs;
    use std::process::Command;

    /// Says that this process is the one that waits.
    const WAITS: &str = "SYSPROF_MEMPROF_TEST_WAITS";

    /// A thread of a process that waits in a call which the kernel does not make again by itself.
    fn waiting(pid: u32) -> Option<u32> {
        fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten().find_map(|task| {
            let call = fs::read_to_string(task.path().join("syscall")).ok()?;
            let number: c_long = call.split(' ').next()?.parse().ok()?;
            let waits = [libc::SYS_epoll_wait, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2];
            waits.contains(&number).then(|| task.file_name().to_str()?.parse().ok())?
        })
    }

    /// Check that a thread which is let go before it has stopped does not notice that it stops then: its call goes on.
    #[test]
    fn calls_of_threads_that_are_given_up_go_on() {
        if std::env::var_os(WAITS).is_some() {
            let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
            let time = rustix::time::Timespec { tv_sec: 1, tv_nsec: 0 };
            let waited =
                epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut Vec::with_capacity(1)), Some(&time));
            assert_eq!(waited, Ok(0));
            return;
        }
        let test = "inject::tracee::tests::calls_of_threads_that_are_given_up_go_on";
        let mut own = Command::new(std::env::current_exe().unwrap());
        let mut child = own.args(["--exact", test]).env(WAITS, "1").spawn().unwrap();
        let began = Instant::now();
        let thread = loop {
            match waiting(child.id()) {
                Some(thread) => break thread,
                None => assert!(began.elapsed() < Duration::from_secs(60), "it does not wait"),
            }
        };
        for _ in 0..10 {
            drop(Tracee::seize(thread).unwrap());
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(child.wait().unwrap().success());
    }
}
