//! Calls functions in another process.
//!
//! ```text
//!   stopped thread ── registers, vectors, signal mask are saved; below its red zone go an area and room for a frame
//!        │ runs the function, all signals blocked but one
//!        ▼
//!   returns to where it stops, see `arch`: on x86-64 an address that is never mapped, at which it faults
//!        │
//!        ▼
//!   its state is restored, and a system call that we interrupted is restarted
//! ```
//!
//! So on x86-64 a call costs a single stop, whatever the function does. A stop takes two context switches, and waits
//! for a processor when they are busy.
//!
//! A call that does not return, because its file is on a disk that does not answer, or because another thread holds
//! the loader's lock for ever, is left alone: the thread gets a way back of its own, see `arch::way_back`.

use super::safepoint::{NotSafe, Obstacle, STACK, SafepointChecker};
use crate::base::log::debug;
use crate::ptrace::arch::{RESUME, RETURNS_BY_FAULT, Registers, can_call, take_back, way_back};
use crate::ptrace::breakpoints::Ready;
use crate::ptrace::memory::Memory;
use crate::ptrace::tracee::late::is_late;
use crate::ptrace::tracee::resume::{Signals, go_on, has_signal, signals};
use crate::ptrace::tracee::{Mask, Stop, Tracee, Vectors};
use std::io;
use std::time::{Duration, Instant};

/// The red zone below a stack pointer, and a margin.
const RED_ZONE: u64 = 256;
/// Bytes in the stopped thread's stack for arguments passed by address.
pub(super) const AREA: usize = 4096;
/// Alignment of what is above them.
const ALIGNMENT: u64 = 64;
/// How long a thread that is in a call may take to stop.
const STOPS: Duration = Duration::from_millis(200);
/// As signal sets.
const SIGTRAP: Mask = 1 << (libc::SIGTRAP - 1);
const SIGSEGV: Mask = 1 << (libc::SIGSEGV - 1);

/// Why a function has not returned.
#[derive(Debug)]
pub(super) enum Failed {
    System(io::Error),
    /// It was about to be killed by this signal.
    Signal(i32),
    /// It has not returned in time. When it does, the thread resumes where it was, without us.
    Late,
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Failed {
        Failed::System(error)
    }
}

/// How long to wait for a call, and what is needed to abandon it.
#[derive(Debug)]
pub(super) struct CallLimits<'m> {
    pub(super) time: Duration,
    pub(super) memory: &'m Memory,
    /// Address of the instructions by which signal handlers return.
    pub(super) restorer: u64,
}

/// A thread stopped at a safe point, ready to call; resumed on drop as if nothing had happened.
#[derive(Debug)]
pub(super) struct Caller {
    pid: u32,
    thread: Tracee,
    registers: Registers,
    vectors: Vectors,
    mask: Mask,
    /// Somebody has sent it a SIGSEGV meanwhile.
    is_sent: bool,
    /// It is in an abandoned call, and has a way back of its own.
    is_left: bool,
    since: Instant,
}

/// Copies the state of a thread, which then resumes.
pub(super) fn look(
    pid: u32,
    thread: u32,
    memory: &Memory,
    deadline: Instant,
) -> io::Result<Option<ThreadState>> {
    if is_late(thread) {
        return Ok(None);
    }
    let mut tracee = Tracee::seize(thread)?;
    tracee.interrupt()?;
    if !tracee.wait_interrupted(deadline)? {
        return Ok(None);
    }
    let registers = tracee.registers()?;
    // First, as we may be killed at any time.
    go_on(pid, &tracee, registers)?;
    let stack = memory.bytes_up_to(registers.stack(), STACK);
    Ok(Some(ThreadState { registers, stack }))
}

/// A copy of a thread's state.
#[derive(Debug)]
pub(super) struct ThreadState {
    pub(super) registers: Registers,
    pub(super) stack: Vec<u8>,
}

impl ThreadState {
    /// True if the thread was in a system call.
    pub(super) fn waits(&self) -> bool {
        self.registers.system_call().is_some()
    }
}

/// Whether the state of a thread's signals prevents a call.
fn hindrance(pid: u32, thread: u32, blocked: Mask) -> Option<Obstacle> {
    let Signals { pending, ignored } = signals(pid, thread)?;
    if pending & !blocked != 0 {
        return Some(Obstacle::SignalHandler);
    }
    // The fault at the end of a call would reset the ignored signal to its default.
    (RETURNS_BY_FAULT && ignored & SIGSEGV != 0).then_some(Obstacle::SignalIgnored)
}

impl Caller {
    /// Stops a thread if it is at a safe point, or soon will be and the kernel is ready for breakpoints; otherwise says why
    /// not.
    pub(super) fn stop(
        thread: u32,
        checker: &mut SafepointChecker,
        memory: &Memory,
        ready: Option<&Ready>,
        deadline: Instant,
    ) -> io::Result<Result<Caller, Obstacle>> {
        if is_late(thread) {
            return Ok(Err(Obstacle::SystemCall));
        }
        let mut tracee = Tracee::seize(thread)?;
        tracee.interrupt()?;
        if !tracee.wait_interrupted(deadline)? {
            return Ok(Err(Obstacle::SystemCall));
        }
        let mut check = |tracee: &Tracee| {
            let registers = tracee.registers()?;
            let stack = memory.bytes_up_to(registers.stack(), STACK);
            io::Result::Ok((registers, checker.check(&registers, &stack)))
        };
        let mut since = Instant::now();
        let (mut registers, mut checked) = check(&tracee)?;
        if let (Err(NotSafe { until: Some(until), .. }), Some(_)) = (checked, ready)
            && tracee.mask()? & SIGTRAP == 0
            && tracee.run_until(until, deadline)?
        {
            since = Instant::now();
            (registers, checked) = check(&tracee)?;
        }
        let pid = checker.pid();
        let obstacle = match checked {
            Err(NotSafe { obstacle, .. }) => Some(obstacle),
            Ok(()) if !can_call(&tracee.vectors()?.bytes) => Some(Obstacle::StreamingMode),
            Ok(()) => hindrance(pid, thread, tracee.mask()?),
        };
        if let Some(obstacle) = obstacle {
            if tracee.is_stopped() {
                go_on(pid, &tracee, tracee.registers()?)?;
            }
            return Ok(Err(obstacle));
        }
        let (vectors, mask) = (tracee.vectors()?, tracee.mask()?);
        if !registers.prepare(&mut tracee)? {
            return Ok(Err(Obstacle::SystemCall));
        }
        tracee.set_mask(!SIGSEGV)?;
        Ok(Ok(Caller {
            pid,
            thread: tracee,
            registers,
            vectors,
            mask,
            is_sent: false,
            is_left: false,
            since,
        }))
    }

    /// Calls a function with two integer arguments.
    pub(super) fn call(
        &mut self,
        function: u64,
        arguments: [u64; 2],
        limits: &CallLimits<'_>,
    ) -> Result<u64, Failed> {
        if self.is_left {
            return Err(Failed::Late);
        }
        let (stack, restorer) = (self.frame(), limits.restorer);
        let calling = self.registers.calling(&self.thread, function, arguments, stack, restorer)?;
        self.thread.set_registers(&calling)?;
        let result = self.run(stack, limits);
        if matches!(result, Ok(_) | Err(Failed::Signal(_))) {
            self.thread.set_registers(&self.restored())?;
        }
        result
    }

    /// The thread's number.
    pub(super) fn id(&self) -> u32 {
        self.thread.id()
    }

    /// Address of what a way back takes above the area.
    fn saved(&self) -> u64 {
        self.registers.stack().wrapping_sub(RED_ZONE + way_back::room(&self.vectors)) & !(ALIGNMENT - 1)
    }

    /// Address of the [`AREA`] bytes.
    pub(super) fn area(&self) -> u64 {
        self.saved().wrapping_sub(AREA as u64)
    }

    /// The stack pointer of calls, with room above it for a way back.
    fn frame(&self) -> u64 {
        self.area().wrapping_sub(way_back::FRAME)
    }

    /// Writes to the beginning of the area, padded with zeros to a multiple of 8 bytes.
    pub(super) fn write(&self, memory: &Memory, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() > AREA {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.put(memory, self.area(), bytes)
    }

    /// Writes bytes at a word's address, padded with zeros to a multiple of 8.
    fn put(&self, memory: &Memory, address: u64, bytes: &[u8]) -> io::Result<()> {
        let mut words = bytes.to_vec();
        words.resize(bytes.len().next_multiple_of(8), 0);
        // One write for everything, since the thread waits for it.
        if memory.write(address, &words).is_ok() {
            return Ok(());
        }
        let words = words.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
        (address..).step_by(8).zip(words).try_for_each(|(at, word)| self.thread.poke(at, word))
    }

    /// Runs the thread until the function that was called with this stack pointer has returned. If that takes too
    /// long, the call is abandoned rather than broken off: it may hold locks.
    fn run(&mut self, stack: u64, limits: &CallLimits<'_>) -> Result<u64, Failed> {
        let mut deadline = Some(Instant::now() + limits.time);
        self.thread.resume(RESUME)?;
        loop {
            let Some(stop) = self.thread.wait_for(deadline)? else {
                let registers = self.interrupt()?;
                if let Some(result) = registers.and_then(|registers| registers.result(stack, limits.restorer))
                {
                    take_back(&mut self.thread)?;
                    return Ok(result);
                }
                match self.leave(limits) {
                    Ok(()) => return Err(Failed::Late),
                    // It can then only return through us.
                    Err(error) => debug!("thread {} cannot be left: {error}", self.thread.id()),
                }
                deadline = None;
                if self.thread.is_stopped() {
                    self.thread.resume(RESUME)?;
                }
                continue;
            };
            match stop {
                // These signals cannot be blocked; they stop the other threads.
                Stop::Interrupted | Stop::Signal(libc::SIGSTOP) => self.thread.resume(RESUME)?,
                Stop::Signal(libc::SIGSEGV) if self.thread.is_signal_sent()? => {
                    self.thread.forget_signal();
                    self.is_sent = true;
                    self.thread.resume(RESUME)?;
                }
                Stop::Signal(_) | Stop::SystemCall => {
                    if let Some(result) = self.thread.registers()?.result(stack, limits.restorer) {
                        take_back(&mut self.thread)?;
                        return Ok(result);
                    }
                    let Stop::Signal(signal) = stop else {
                        self.thread.resume(RESUME)?;
                        continue;
                    };
                    self.thread.forget_signal();
                    return Err(Failed::Signal(signal));
                }
            }
        }
    }

    /// Stops it wherever it is. Returns its registers, or `None` if the kernel does not let it stop: then it runs no
    /// code of its own either.
    fn interrupt(&mut self) -> io::Result<Option<Registers>> {
        self.thread.interrupt()?;
        let stop = self.thread.wait_for(Some(Instant::now() + STOPS))?;
        stop.map(|_| self.thread.registers()).transpose()
    }

    /// Abandons it in a call, with a way back: when the call returns, the thread resumes in its old state, with the
    /// signals blocked that it had blocked.
    fn leave(&mut self, limits: &CallLimits<'_>) -> io::Result<()> {
        let places = [self.saved(), self.frame()];
        let (registers, vectors) = (self.restored(), &self.vectors);
        let parts = way_back::parts(limits.restorer, &registers, self.mask, vectors, places)?;
        parts.iter().try_for_each(|(at, bytes)| self.put(limits.memory, *at, bytes))?;
        self.is_left = true;
        if self.thread.is_stopped() {
            // Meanwhile it receives its signals: stopping a service that does not answer should not require SIGKILL.
            self.thread.set_mask(self.mask)?;
            if matches!(self.thread.signal(), 0 | libc::SIGSTOP) {
                go_on(self.pid, &self.thread, self.thread.registers()?)?;
            }
        }
        Ok(())
    }

    /// The registers with which it resumes its old work.
    fn restored(&self) -> Registers {
        self.registers.resumed(|| has_signal(self.pid, self.thread.id(), self.mask))
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        if self.is_left {
            if self.is_sent && self.thread.is_stopped() {
                self.thread.keep_signal(libc::SIGSEGV);
            }
            debug!("thread {} of process {} is left in a call", self.thread.id(), self.pid);
            return;
        }
        if self.thread.is_stopped() {
            let _ = self.thread.set_registers(&self.restored());
            let _ = self.thread.set_vectors(&mut self.vectors);
            let _ = self.thread.set_mask(self.mask);
            if self.is_sent {
                self.thread.keep_signal(libc::SIGSEGV);
            }
        }
        debug!(
            "thread {} of process {} stood still for {:?}",
            self.thread.id(),
            self.pid,
            self.since.elapsed()
        );
    }
}
