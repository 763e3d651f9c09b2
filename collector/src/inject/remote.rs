//! Calls functions in another process.
//!
//! ```text
//!   stopped thread ── registers, vectors, signal mask are saved; below its red zone go an area and a return address
//!        │ runs the function, all signals blocked but one
//!        ▼
//!   returns to an address that is never mapped: it faults, and we are told of the SIGSEGV, which it does not get
//!        │
//!        ▼
//!   its state is restored, and a system call that we interrupted is restarted
//! ```
//!
//! So a call costs a single stop, whatever the function does. A stop takes two context switches, and waits for a
//! processor when they are busy.
//!
//! A call that does not return, because its file is on a disk that does not answer, or because another thread holds
//! the loader's lock for ever, is left alone: the thread gets a way back of its own, see [`super::way_back`].

use super::breakpoints::Ready;
use super::late::is_late;
use super::memory::Memory;
use super::moment::{Bad, Ground, Refused, STACK};
use super::threads::task;
use super::tracee::{Mask, Stop, Tracee};
use super::way_back::{self, ALIGNMENT, BEHIND, FRAME};
use crate::log::debug;
use libc::user_regs_struct;
use std::io;
use std::time::{Duration, Instant};

/// The red zone of the x86-64 calling convention, and a margin.
const RED_ZONE: u64 = 256;
/// Bytes in the stopped thread's stack for arguments passed by address.
pub(super) const AREA: usize = 4096;
/// Where functions return to: the start of the kernel's half of the address space, where nothing is ever mapped.
const NOWHERE: u64 = 0xffff_8000_0000_0000;
/// How long a thread that is in a call may take to stop.
const STOPS: Duration = Duration::from_millis(200);
/// As signal sets.
const SIGTRAP: Mask = 1 << (libc::SIGTRAP - 1);
const SIGSEGV: Mask = 1 << (libc::SIGSEGV - 1);
/// The direction and single-step flags.
const DIRECTION: u64 = 0x400;
const STEPS: u64 = 0x100;
/// Results of system calls that the kernel restarts, in its internal numbering: after any handler, or after handlers
/// that ask for it.
const RESTART: [i64; 2] = [-512, -513];
/// The same; restarted only if no handler ran.
const RESTART_ALONE: i64 = -514;
const RESTART_BLOCK: i64 = -516;
const CUT: i64 = -(libc::EINTR as i64);
/// Calls that end with `EINTR` even if no handler ran, and can be repeated as they are: sends and receives end so on
/// a socket with a timeout, before the first byte; an interrupted connect can be waited for again.
const REPEATED: [i64; 25] = [
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_io_getevents,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_recvmmsg,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_preadv2,
    libc::SYS_io_uring_enter,
    libc::SYS_connect,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwritev2,
];

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
pub(super) struct Patience<'m> {
    pub(super) time: Duration,
    pub(super) memory: &'m Memory,
    /// Address of the instructions by which signal handlers return.
    pub(super) restorer: u64,
}

/// A thread stopped at a good moment, ready to call; resumed on drop as if nothing had happened.
#[derive(Debug)]
pub(super) struct Caller {
    pid: u32,
    thread: Tracee,
    registers: user_regs_struct,
    vectors: Vec<u8>,
    mask: Mask,
    /// Somebody has sent it a SIGSEGV meanwhile.
    is_sent: bool,
    /// It is in an abandoned call, and has a way back of its own.
    is_left: bool,
    since: Instant,
}

/// Copies the state of a thread, which then resumes.
pub(super) fn look(pid: u32, thread: u32, memory: &Memory, deadline: Instant) -> io::Result<Option<Stood>> {
    if is_late(thread) {
        return Ok(None);
    }
    let mut tracee = Tracee::seize(thread)?;
    tracee.interrupt()?;
    if !tracee.wait_interrupted(deadline)? {
        return Ok(None);
    }
    let registers = tracee.registers()?;
    let stack = memory.bytes_up_to(registers.rsp, STACK);
    go_on(pid, &tracee, registers)?;
    Ok(Some(Stood { registers, stack }))
}

/// A copy of a thread's state.
#[derive(Debug)]
pub(super) struct Stood {
    pub(super) registers: user_regs_struct,
    pub(super) stack: Vec<u8>,
}

impl Stood {
    /// True if the thread was in a system call.
    pub(super) fn waits(&self) -> bool {
        self.registers.orig_rax.cast_signed() >= 0
    }
}

/// Resumes a thread that was interrupted in a system call, so that the call does not report the interruption.
pub(crate) fn go_on(pid: u32, thread: &Tracee, mut registers: user_regs_struct) -> io::Result<()> {
    if is_cut(&registers) && !has_signal(pid, thread.id(), thread.mask()?) {
        let call = registers.orig_rax;
        again(&mut registers, call);
        return thread.set_registers(registers);
    }
    Ok(())
}

/// The same for a thread that stopped after it was given up.
pub(super) fn go_on_unseen(thread: &Tracee) {
    if thread.signal() == 0 {
        // A thread's own number leads to its files under /proc, too.
        let _ = thread.registers().and_then(|registers| go_on(thread.id(), thread, registers));
    }
}

fn is_cut(registers: &user_regs_struct) -> bool {
    registers.rax.cast_signed() == CUT && REPEATED.contains(&registers.orig_rax.cast_signed())
}

/// Makes the thread repeat the system call that it just came from.
fn again(registers: &mut user_regs_struct, call: u64) {
    registers.rax = call;
    registers.orig_rax = u64::MAX;
    registers.rip = registers.rip.wrapping_sub(2);
}

/// True if the thread has returned from a call, which leaves this stack pointer.
fn has_returned(registers: &user_regs_struct, stack: u64) -> bool {
    (registers.rip, registers.rsp) == (NOWHERE, stack)
}

/// True while an unblocked signal is pending for the thread, or for its whole process.
fn has_signal(pid: u32, thread: u32, blocked: Mask) -> bool {
    signals(pid, thread).is_some_and(|signals| signals.pending & !blocked != 0)
}

/// The state of a thread's signals.
struct Signals {
    pending: Mask,
    ignored: Mask,
}

fn signals(pid: u32, thread: u32) -> Option<Signals> {
    let status = task(pid, thread).and_then(|task| task.status()).ok()?;
    Some(Signals { pending: status.sigpnd | status.shdpnd, ignored: status.sigign })
}

/// Whether the state of a thread's signals prevents a call.
fn hindrance(pid: u32, thread: u32, blocked: Mask) -> Option<Bad> {
    let Signals { pending, ignored } = signals(pid, thread)?;
    if pending & !blocked != 0 {
        return Some(Bad::Handler);
    }
    // The fault at the end of a call would reset the ignored signal to its default.
    (ignored & SIGSEGV != 0).then_some(Bad::Deaf)
}

impl Caller {
    /// Stops a thread if it stands well, or soon will and the kernel is ready for breakpoints; otherwise says why
    /// not.
    pub(super) fn stop(
        thread: u32,
        ground: &mut Ground,
        memory: &Memory,
        ready: Option<&Ready>,
        deadline: Instant,
    ) -> io::Result<Result<Caller, Bad>> {
        if is_late(thread) {
            return Ok(Err(Bad::Call));
        }
        let mut tracee = Tracee::seize(thread)?;
        tracee.interrupt()?;
        if !tracee.wait_interrupted(deadline)? {
            return Ok(Err(Bad::Call));
        }
        let mut check = |tracee: &Tracee| {
            let registers = tracee.registers()?;
            let stack = memory.bytes_up_to(registers.rsp, STACK);
            io::Result::Ok((registers, ground.check(&registers, &stack)))
        };
        let mut since = Instant::now();
        let (mut registers, mut checked) = check(&tracee)?;
        if let (Err(Refused { until: Some(until), .. }), Some(_)) = (checked, ready)
            && tracee.mask()? & SIGTRAP == 0
            && tracee.run_until(until, deadline)?
        {
            since = Instant::now();
            (registers, checked) = check(&tracee)?;
        }
        let pid = ground.pid();
        let bad = match checked {
            Err(Refused { bad, .. }) => Some(bad),
            Ok(()) => hindrance(pid, thread, tracee.mask()?),
        };
        if let Some(bad) = bad {
            if tracee.is_stopped() {
                go_on(pid, &tracee, tracee.registers()?)?;
            }
            return Ok(Err(bad));
        }
        let (vectors, mask) = (tracee.vectors()?, tracee.mask()?);
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
        patience: &Patience<'_>,
    ) -> Result<u64, Failed> {
        if self.is_left {
            return Err(Failed::Late);
        }
        let mut registers = self.registers;
        // The stack pointer as after a call instruction.
        let stack = self.frame();
        self.thread.poke(stack, NOWHERE)?;
        [registers.rdi, registers.rsi] = arguments;
        registers.rip = function;
        registers.rsp = stack;
        // No variadic argument is in a vector register.
        registers.rax = 0;
        registers.orig_rax = u64::MAX;
        registers.eflags &= !(DIRECTION | STEPS);
        self.thread.set_registers(registers)?;
        let result = self.run(stack.wrapping_add(8), patience);
        if matches!(result, Ok(_) | Err(Failed::Signal(_))) {
            self.thread.set_registers(self.restored())?;
        }
        result
    }

    /// The thread's number.
    pub(super) fn id(&self) -> u32 {
        self.thread.id()
    }

    /// Address for its vector registers on a way back.
    fn saved(&self) -> u64 {
        let room = self.vectors.len().next_multiple_of(8) + BEHIND + 4;
        self.registers.rsp.wrapping_sub(RED_ZONE + room as u64) & !(ALIGNMENT - 1)
    }

    /// Address of the [`AREA`] bytes.
    pub(super) fn area(&self) -> u64 {
        self.saved().wrapping_sub(AREA as u64)
    }

    /// Address at which calls find their return address, with room above it for a way back.
    fn frame(&self) -> u64 {
        self.area().wrapping_sub(FRAME as u64 + 8)
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

    /// Runs the thread until it has returned, which leaves this stack pointer. If that takes too long, the call is
    /// abandoned rather than broken off: it may hold locks.
    fn run(&mut self, stack: u64, patience: &Patience<'_>) -> Result<u64, Failed> {
        let mut deadline = Some(Instant::now() + patience.time);
        self.thread.go_on()?;
        loop {
            let Some(stop) = self.thread.wait_for(deadline)? else {
                let registers = self.interrupt()?;
                if registers.is_some_and(|registers| has_returned(&registers, stack)) {
                    self.thread.forget_signal();
                    return Ok(registers.map_or(0, |registers| registers.rax));
                }
                match self.leave(patience) {
                    Ok(()) => return Err(Failed::Late),
                    // It can then only return through us.
                    Err(error) => debug!("thread {} cannot be left: {error}", self.thread.id()),
                }
                deadline = None;
                if self.thread.is_stopped() {
                    self.thread.go_on()?;
                }
                continue;
            };
            match stop {
                // These signals cannot be blocked; they stop the other threads.
                Stop::Interrupted | Stop::Signal(libc::SIGSTOP) => self.thread.go_on()?,
                Stop::Signal(libc::SIGSEGV) if self.thread.is_signal_sent()? => {
                    self.thread.forget_signal();
                    self.is_sent = true;
                    self.thread.go_on()?;
                }
                Stop::Signal(signal) => {
                    let registers = self.thread.registers()?;
                    self.thread.forget_signal();
                    if signal == libc::SIGSEGV && has_returned(&registers, stack) {
                        return Ok(registers.rax);
                    }
                    return Err(Failed::Signal(signal));
                }
            }
        }
    }

    /// Stops it wherever it is. Returns its registers, or `None` if the kernel does not let it stop: then it runs no
    /// code of its own either.
    fn interrupt(&mut self) -> io::Result<Option<user_regs_struct>> {
        self.thread.interrupt()?;
        let stop = self.thread.wait_for(Some(Instant::now() + STOPS))?;
        stop.map(|_| self.thread.registers()).transpose()
    }

    /// Abandons it in a call, with a way back: when the call returns, the thread resumes in its old state, with the
    /// signals blocked that it had blocked.
    fn leave(&mut self, patience: &Patience<'_>) -> io::Result<()> {
        let (saved, frame) = (self.saved(), self.frame());
        let bytes = way_back::frame(patience.restorer, &self.restored(), self.mask, saved);
        self.put(patience.memory, saved, &way_back::vectors(&self.vectors))?;
        self.put(patience.memory, frame, &bytes)?;
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

    /// The registers with which it resumes its old work. The kernel restarts interrupted system calls only on its own
    /// way back from them, and this is another way.
    fn restored(&self) -> user_regs_struct {
        let mut registers = self.registers;
        let (call, result) = (registers.orig_rax, registers.rax.cast_signed());
        registers.orig_rax = u64::MAX;
        if call.cast_signed() < 0 {
            return registers;
        }
        let ends_at_handlers = matches!(result, RESTART_ALONE | RESTART_BLOCK) || is_cut(&self.registers);
        if ends_at_handlers && has_signal(self.pid, self.thread.id(), self.mask) {
            registers.rax = CUT.cast_unsigned();
        } else if result == RESTART_BLOCK {
            again(&mut registers, libc::SYS_restart_syscall.cast_unsigned());
        } else if ends_at_handlers || RESTART.contains(&result) {
            again(&mut registers, call);
        }
        registers
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
            let _ = self.thread.set_registers(self.restored());
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
