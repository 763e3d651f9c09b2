//! A thread of another process under `ptrace`.
//!
//! A tracee is seized, which it does not notice, stopped when it is to be examined, and released on drop. All of this
//! happens in one thread of ours, as the kernel requires; when that thread ends, its tracees are free, whatever
//! happened. A tracee that has not stopped cannot be released, and is kept until it has.

pub(crate) mod late;
pub(crate) mod resume;

use super::arch::{self, Registers, SystemCall};
use libc::{c_int, c_long, c_uint, c_void, iovec, pid_t};
use resume::go_on_unseen;
use std::io;
use std::mem::ManuallyDrop;
use std::time::{Duration, Instant};

/// Bytes of the largest vector state: AMX needs 11 KiB.
const VECTOR: usize = 16 << 10;
/// Marks stops at system calls.
const OPTIONS: usize = libc::PTRACE_O_TRACESYSGOOD as usize;
const SYSTEM_CALL: c_int = libc::SIGTRAP | 0x80;
/// How long to wait actively: a stop takes microseconds, and meanwhile a thread stands still.
const SOON: Duration = Duration::from_millis(2);
const NAP: Duration = Duration::from_micros(200);
/// Threads stop within this time, except in the worst places of the kernel.
const LONG: Duration = Duration::from_millis(200);

/// `PTRACE_SECCOMP_GET_FILTER`
const SECCOMP_GET_FILTER: c_uint = 0x420c;
/// `PTRACE_EVENT_STOP`
const EVENT_STOP: c_int = 128;

/// A signal set, in the kernel's format.
pub(crate) type Mask = u64;

/// Why a thread is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// We interrupted it, or somebody else is stopping its process.
    Interrupted,
    /// A signal is about to be delivered.
    Signal(c_int),
    /// It begins or ends a system call, and was resumed so as to stop there.
    SystemCall,
}

/// A thread's vector registers and related state.
#[derive(Clone, Debug)]
pub(crate) struct Vectors {
    /// Which set of registers it is.
    pub(crate) set: usize,
    /// As the processor or the kernel saves them.
    pub(crate) bytes: Vec<u8>,
}

/// A seized thread.
#[derive(Debug)]
pub(crate) struct Tracee {
    thread: pid_t,
    stop: Option<Stop>,
    is_gone: bool,
    has_breakpoint: bool,
    /// The system call that it was in when it was asked to stop.
    before: Option<SystemCall>,
}

impl Tracee {
    /// Makes us the thread's tracer; the thread keeps running.
    pub(crate) fn seize(thread: u32) -> io::Result<Tracee> {
        let thread = thread.cast_signed();
        request(libc::PTRACE_SEIZE, thread, 0, OPTIONS)?;
        Ok(Tracee { thread, stop: None, is_gone: false, has_breakpoint: false, before: None })
    }

    /// Asks it to stop.
    pub(crate) fn interrupt(&mut self) -> io::Result<()> {
        if self.stop.is_none() {
            self.before = arch::system_call_of(self.id());
        }
        request(libc::PTRACE_INTERRUPT, self.thread, 0, 0).map(drop)
    }

    /// Waits for the requested stop; signals that arrive first are delivered. False if it has not stopped by the
    /// deadline: then it is in the kernel, and will stop before it returns from there.
    pub(crate) fn wait_interrupted(&mut self, deadline: Instant) -> io::Result<bool> {
        loop {
            match self.wait(deadline)? {
                None => return Ok(false),
                Some(Stop::Interrupted) => return Ok(true),
                Some(Stop::Signal(_) | Stop::SystemCall) => {
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

    /// Discards the signal of our own breakpoint, which would kill it.
    fn forget_breakpoint(&mut self) {
        let is_trap = self.has_breakpoint && self.stop == Some(Stop::Signal(libc::SIGTRAP));
        if is_trap && !self.is_signal_sent().unwrap_or(false) {
            self.forget_signal();
        }
    }

    /// True while a breakpoint is set.
    pub(crate) fn has_breakpoint(&self) -> bool {
        self.has_breakpoint
    }

    /// Resumes it by this request, with the signal that it stopped for.
    pub(crate) fn resume(&mut self, request: c_uint) -> io::Result<()> {
        self.go_by(request, self.signal())
    }

    /// Waits for its next stop, indefinitely if there is no deadline.
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

    /// Resumes it until it reaches an instruction, where a hardware breakpoint stops it, or until the deadline, when
    /// it is interrupted. False in the latter case, and if there is no breakpoint to be had.
    pub(crate) fn run_until(&mut self, address: u64, deadline: Instant) -> io::Result<bool> {
        if self.set_breakpoint(Some(address)).is_err() {
            return Ok(false);
        }
        let came = self.run_to_breakpoint(deadline);
        if !matches!(came, Ok(true)) && self.stop.is_none() {
            self.interrupt()?;
            if !self.wait_interrupted(Instant::now() + LONG)? {
                // Its breakpoint is removed once it has stopped.
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

    /// Sets its hardware breakpoint to an instruction, or clears it.
    fn set_breakpoint(&mut self, address: Option<u64>) -> io::Result<()> {
        arch::set_breakpoint(self, address)?;
        self.has_breakpoint = address.is_some();
        Ok(())
    }

    /// The signal that it receives when it resumes.
    pub(crate) fn signal(&self) -> c_int {
        if let Some(Stop::Signal(signal)) = self.stop { signal } else { 0 }
    }

    fn go(&mut self, signal: c_int) -> io::Result<()> {
        self.go_by(libc::PTRACE_CONT, signal)
    }

    fn go_by(&mut self, how: c_uint, signal: c_int) -> io::Result<()> {
        self.stop = None;
        request(how, self.thread, 0, signal as usize).map(drop)
    }

    /// Waits for its next stop; `None` if there was none by the deadline.
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

    /// Its stop, if it has one, or after a wait if the flags say so. The end of a child of ours is left for whoever
    /// waits for that.
    fn look(&mut self, flags: c_int) -> io::Result<Option<Stop>> {
        match wait(self.thread, libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | flags) {
            Ok(None) => {
                // Another thread of ours that waits for all children may have consumed the stop.
                self.stop = self.ask();
                Ok(self.stop)
            }
            Ok(Some((libc::CLD_TRAPPED | libc::CLD_STOPPED, status))) => {
                let _ = wait(self.thread, libc::WSTOPPED | libc::WNOHANG);
                self.stop = Some(match status >> 8 {
                    // No other events were asked for.
                    EVENT_STOP => Stop::Interrupted,
                    _ if status == SYSTEM_CALL => Stop::SystemCall,
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
        Some(match info.si_code {
            SYSTEM_CALL => Stop::SystemCall,
            code if code >> 8 == EVENT_STOP => Stop::Interrupted,
            _ => Stop::Signal(info.si_signo),
        })
    }

    /// Its registers. Only for a stopped thread, like everything below.
    pub(crate) fn registers(&self) -> io::Result<Registers> {
        Registers::of(self)
    }

    pub(crate) fn set_registers(&self, registers: &Registers) -> io::Result<()> {
        registers.put(self)
    }

    /// Its vector registers and related state.
    pub(crate) fn vectors(&self) -> io::Result<Vectors> {
        let mut result = Err(io::ErrorKind::Unsupported.into());
        for set in arch::VECTOR_SETS {
            let mut bytes = vec![0; VECTOR];
            result = self.get(set, &mut bytes).map(|length| {
                bytes.truncate(length);
                Vectors { set, bytes }
            });
            if result.is_ok() {
                break;
            }
        }
        result
    }

    pub(crate) fn set_vectors(&self, vectors: &mut Vectors) -> io::Result<()> {
        self.set(vectors.set, &mut vectors.bytes)
    }

    /// A set of registers, by the number of its note in core files; returns how many bytes it has.
    fn get(&self, set: usize, bytes: &mut [u8]) -> io::Result<usize> {
        let mut place = iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        request(libc::PTRACE_GETREGSET, self.thread, set, (&raw mut place).expose_provenance())?;
        Ok(place.iov_len)
    }

    pub(crate) fn set(&self, set: usize, bytes: &mut [u8]) -> io::Result<()> {
        let mut place = iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        request(libc::PTRACE_SETREGSET, self.thread, set, (&raw mut place).expose_provenance()).map(drop)
    }

    /// The first words of a set of registers.
    pub(crate) fn words<const COUNT: usize>(&self, set: usize) -> io::Result<[u64; COUNT]> {
        let mut bytes = [[0; 8]; COUNT];
        self.get(set, bytes.as_flattened_mut())?;
        Ok(bytes.map(u64::from_le_bytes))
    }

    pub(crate) fn set_words<const COUNT: usize>(&self, set: usize, words: &[u64; COUNT]) -> io::Result<()> {
        self.set(set, words.map(u64::to_le_bytes).as_flattened_mut())
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

    /// The instructions of a filter on its system calls. The last one installed is number 0; `None` beyond the first.
    /// Only root may read them.
    pub(crate) fn filter(&self, number: usize) -> io::Result<Option<Vec<[u8; 8]>>> {
        let ask = |place: usize| request(SECCOMP_GET_FILTER, self.thread, number, place);
        let length = match ask(0) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(None),
            length => length?,
        };
        // A filter cannot be changed once it is installed.
        let mut instructions = vec![[0; 8]; usize::try_from(length).unwrap_or(0)];
        ask(instructions.as_mut_ptr().expose_provenance())?;
        Ok(Some(instructions))
    }

    /// Writes a word of its memory, whatever the protection.
    pub(crate) fn poke(&self, address: u64, word: u64) -> io::Result<()> {
        request(libc::PTRACE_POKEDATA, self.thread, address as usize, word as usize).map(drop)
    }

    /// The system call that it was in when it was asked to stop, as far as that matters here.
    #[cfg(target_arch = "aarch64")]
    pub(crate) fn before(&self) -> Option<SystemCall> {
        self.before
    }

    /// A word of its memory.
    #[cfg(target_arch = "aarch64")]
    pub(crate) fn peek(&self, address: u64) -> io::Result<u64> {
        request(libc::PTRACE_PEEKDATA, self.thread, address as usize, 0).map(c_long::cast_unsigned)
    }

    /// Writes a word of the kernel's `struct user` of it.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn poke_user(&self, offset: usize, word: u64) -> io::Result<()> {
        request(libc::PTRACE_POKEUSER, self.thread, offset, word as usize).map(drop)
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.thread.cast_unsigned()
    }

    /// Discards the signal that it stopped for.
    pub(crate) fn forget_signal(&mut self) {
        self.stop = Some(Stop::Interrupted);
    }

    /// Gives it a signal to receive when it resumes.
    pub(crate) fn keep_signal(&mut self, signal: c_int) {
        self.stop = Some(Stop::Signal(signal));
    }

    /// True for a signal that was sent by somebody, rather than raised by the processor or the kernel.
    pub(crate) fn is_signal_sent(&self) -> io::Result<bool> {
        Ok(self.signal_info()?.si_code <= 0)
    }

    /// Details of the signal that it stopped for; fails while it runs.
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
            // It stops when it leaves the kernel, and would remain stopped until our thread ends.
            late::keep(ManuallyDrop::new(Tracee { ..*self }));
            return;
        }
        if self.has_breakpoint {
            let _ = self.set_breakpoint(None);
        }
        let _ = request(libc::PTRACE_DETACH, self.thread, 0, self.signal() as usize);
    }
}

/// Waits for a change of a thread: returns kind and status.
fn wait(thread: pid_t, options: c_int) -> io::Result<Option<(c_int, c_int)>> {
    let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: writes only the siginfo, which has the size that the kernel expects.
    let waited = unsafe {
        libc::waitid(libc::P_PID, thread.cast_unsigned(), info.as_mut_ptr(), libc::__WALL | options)
    };
    if waited != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all zeros are valid, and so is what the kernel wrote.
    let info = unsafe { info.assume_init() };
    // SAFETY: the siginfo is all zeros, or describes a child.
    let pid = unsafe { info.si_pid() };
    // SAFETY: as above.
    let status = unsafe { info.si_status() };
    Ok((pid != 0).then_some((info.si_code, status)))
}

/// True for the main thread of a child of ours: its end is not for the tracer to consume.
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
    // SAFETY: the kernel checks everything except what it writes to our memory: registers, vectors, masks and filters
    // go to buffers that outlive the call and have the given size.
    let result = unsafe { libc::ptrace(what, thread, pointer(address), pointer(data)) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::epoll;
    use std::fs;
    use std::process::Command;

    /// Marks the process that is to wait.
    const WAITS: &str = "SYSPROF_MEMPROF_TEST_WAITS";

    /// A thread of a process that waits in a system call which the kernel does not restart by itself.
    fn waiting(pid: u32) -> Option<u32> {
        fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten().find_map(|task| {
            let call = fs::read_to_string(task.path().join("syscall")).ok()?;
            let number: c_long = call.split(' ').next()?.parse().ok()?;
            let waits = [libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2];
            let is_wait = waits.contains(&number) || arch::OLD_WAITS.contains(&number);
            is_wait.then(|| task.file_name().to_str()?.parse().ok())?
        })
    }

    /// Check that a thread that is given up before it has stopped does not notice when it stops later: its system
    /// call continues.
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
        let test = "ptrace::tracee::tests::calls_of_threads_that_are_given_up_go_on";
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
            // On a busy machine it may take longer to stop; until then it is traced.
            while late::is_late(thread) {
                late::let_go();
            }
        }
        assert!(child.wait().unwrap().success());
    }
}
