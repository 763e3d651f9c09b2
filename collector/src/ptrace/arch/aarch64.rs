//! 64-bit ARM. A function returns to the instructions by which signal handlers return, whose address the kernel keeps
//! in its own module: the thread stops when it begins that system call, which is skipped. Its other system calls stop
//! it, too. An address that is never mapped would be simpler, but a call that we give up needs a way back, and once
//! the function has stored its return address, perhaps signed, it cannot be changed.
//!
//! A thread that was stopped in a system call that is to be restarted stands before it again, with all its arguments
//! back: the kernel does that before anybody looks. Only when the thread goes on does it decide whether the call is
//! continued as `restart_syscall` instead.

pub(crate) mod way_back;

use super::{CUT, REPEATED};
use crate::ptrace::tracee::{Stop, Tracee};
use libc::{c_uint, user_regs_struct};
use object::elf::{
    EM_AARCH64, NT_ARM_HW_BREAK, NT_ARM_SVE, NT_ARM_SYSTEM_CALL, NT_ARM_TLS, NT_PRSTATUS, R_AARCH64_ABS64,
    R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT,
};
use std::io;
use std::time::{Duration, Instant};
use unwind::CodeAddress;

/// Modules for this processor, and their relocations that store a symbol's address: plain, in a table, and in the
/// table of functions that may be bound at their first call.
pub(crate) const MACHINE: u16 = EM_AARCH64;
pub(crate) const ABSOLUTE: u32 = R_AARCH64_ABS64;
pub(crate) const IN_TABLE: u32 = R_AARCH64_GLOB_DAT;
pub(crate) const LAZY: u32 = R_AARCH64_JUMP_SLOT;

/// The vector registers: those of SVE, or `NT_PRFPREG` where there are none.
pub(crate) const VECTOR_SETS: [usize; 2] = [NT_ARM_SVE as usize, 2];
/// A call ends with a system call.
pub(crate) const RETURNS_BY_FAULT: bool = false;
/// How a thread runs a function for us.
pub(crate) const RESUME: c_uint = libc::PTRACE_SYSCALL;
/// System calls in which programs wait that this architecture does without.
pub(crate) const OLD_WAITS: [i64; 0] = [];

/// System calls that end with `EINTR` once a handler has run, whatever the handler asks for. Those which
/// `restart_syscall` continues end so, too.
const ALONE: [i64; 4] =
    [libc::SYS_pselect6, libc::SYS_ppoll, libc::SYS_rt_sigsuspend, libc::SYS_clock_nanosleep];
/// `svc #0`
const SUPERVISOR_CALL: u32 = 0xd400_0001;
/// Single steps, and what kind of branch was last, which has to lead to an instruction that permits it.
const FLAGS: u64 = 1 << 21 | 3 << 10;
/// No system call.
const NONE: i32 = -1;
/// A thread comes to its next system call, or out of it, within this time.
const SOON: Duration = Duration::from_millis(200);
/// Breaks at one instruction of four bytes outside the kernel.
const BREAKS: u32 = 0xf << 5 | 2 << 1 | 1;
/// Least bytes of a vector state; in streaming mode the kernel returns less.
const VECTORS: usize = 512;

const COUNT: usize = size_of::<user_regs_struct>() / 8;
const LINK: usize = 30;
const SP: usize = 31;
const PC: usize = 32;
const STATE: usize = 33;
/// The register with the number of a system call.
const CALL: usize = 8;

/// Where a thread stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before a system call, which it makes next.
    Before,
    /// After one.
    After,
    Elsewhere,
}

/// A system call that a thread waits in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemCall {
    number: i64,
    /// Its first argument.
    first: u64,
    stack: u64,
    /// The address of the instruction that follows.
    end: u64,
}

/// A stopped thread's registers: x0 to x30, sp, pc and pstate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registers {
    words: [u64; COUNT],
    thread_pointer: u64,
    place: Place,
    /// The first argument of a system call that has ended only because of us.
    cut: Option<u64>,
}

impl Registers {
    pub(crate) fn of(thread: &Tracee) -> io::Result<Registers> {
        let words: [u64; COUNT] = thread.words(NT_PRSTATUS as usize)?;
        let [thread_pointer] = thread.words(NT_ARM_TLS as usize)?;
        let code = thread.peek(words[PC].wrapping_sub(4)).unwrap_or(0);
        let place = match ((code >> 32) as u32, code as u32) {
            (SUPERVISOR_CALL, _) => Place::Before,
            (_, SUPERVISOR_CALL) => Place::After,
            _ => Place::Elsewhere,
        };
        let mut registers = Registers { words, thread_pointer, place, cut: None };
        registers.cut = thread.before().filter(|call| registers.is_end_of(call)).map(|call| call.first);
        Ok(registers)
    }

    pub(crate) fn put(&self, thread: &Tracee) -> io::Result<()> {
        thread.set_words(NT_PRSTATUS as usize, &self.words)
    }

    /// The stack pointer.
    pub(crate) fn stack(&self) -> u64 {
        self.words[SP]
    }

    /// Where a walk of its stack begins.
    pub(crate) fn start(&self) -> unwind::Registers {
        let [bp, ..] = self.words[LINK - 1..] else { unreachable!("there are more") };
        unwind::Registers { ip: CodeAddress::Exact(self.words[PC]), sp: self.words[SP], bp }
    }

    /// The return address of a function that has not stored it.
    pub(crate) fn link(&self) -> Option<u64> {
        Some(self.words[LINK])
    }

    pub(crate) fn thread_pointer(&self) -> u64 {
        self.thread_pointer
    }

    /// The registers that can hold an address.
    pub(crate) fn addresses(&self) -> Vec<u64> {
        self.words[..PC].iter().copied().chain([self.thread_pointer]).collect()
    }

    /// The number of the system call that the thread was in when it stopped; also of one that it was about to make,
    /// or had just made.
    pub(crate) fn system_call(&self) -> Option<i64> {
        (self.place != Place::Elsewhere).then_some(self.words[CALL].cast_signed())
    }

    /// Makes the thread repeat the system call that it just came from, if that has ended only because of us.
    pub(crate) fn repeat_cut(&mut self) -> bool {
        let first = self.cut.take();
        if let Some(first) = first {
            self.words[0] = first;
            self.words[PC] = self.words[PC].wrapping_sub(4);
        }
        first.is_some()
    }

    /// True if this system call has just ended, as a signal makes it end.
    fn is_end_of(&self, call: &SystemCall) -> bool {
        let is_here = (call.stack, call.end) == (self.words[SP], self.words[PC]);
        let number = self.words[CALL].cast_signed();
        self.place == Place::After
            && self.words[0] == CUT
            && is_here
            && call.number == number
            && REPEATED.contains(&number)
    }

    /// The thread is to call functions. One that stands before a system call is led into it, past whatever the kernel
    /// changes on the way, and out again without making it. False if something has got in between.
    pub(crate) fn prepare(&mut self, thread: &mut Tracee) -> io::Result<bool> {
        if self.place != Place::Before {
            return Ok(true);
        }
        thread.resume(libc::PTRACE_SYSCALL)?;
        match thread.wait(Instant::now() + SOON)? {
            Some(Stop::SystemCall) => {}
            Some(Stop::Signal(_)) => {
                // A handler runs before the call, which may have to end because of that.
                Registers::of(thread)?.resumed(|| true).put(thread)?;
                return Ok(false);
            }
            _ => return Ok(false),
        }
        let words: [u64; COUNT] = thread.words(NT_PRSTATUS as usize)?;
        self.words[CALL] = words[CALL];
        take_back(thread)?;
        Ok(true)
    }

    /// The registers with which the thread resumes its old work.
    pub(crate) fn resumed(&self, has_signal: impl FnOnce() -> bool) -> Registers {
        let mut resumed = *self;
        let call = self.words[CALL].cast_signed();
        let ends_at_handlers =
            self.place == Place::Before && (ALONE.contains(&call) || call == libc::SYS_restart_syscall);
        if (ends_at_handlers || self.cut.is_some()) && has_signal() {
            if ends_at_handlers {
                resumed.words[0] = CUT;
                resumed.words[PC] = self.words[PC].wrapping_add(4);
            }
        } else {
            resumed.repeat_cut();
        }
        resumed
    }

    /// The registers with which the thread calls a function with two integer arguments, and returns to `restorer`.
    pub(crate) fn calling(
        &self,
        _thread: &Tracee,
        function: u64,
        arguments: [u64; 2],
        stack: u64,
        restorer: u64,
    ) -> io::Result<Registers> {
        let mut calling = *self;
        calling.words[..2].copy_from_slice(&arguments);
        calling.words[LINK] = restorer;
        calling.words[SP] = stack;
        calling.words[PC] = function;
        calling.words[STATE] &= !FLAGS;
        Ok(calling)
    }

    /// The function's result, if it has returned.
    pub(crate) fn result(&self, stack: u64, restorer: u64) -> Option<u64> {
        let end = restorer.wrapping_add(way_back::RESTORER.len() as u64);
        ((self.words[PC], self.words[SP]) == (end, stack)).then_some(self.words[0])
    }
}

/// Leads a thread that begins a system call, as one does whose function has returned, out again without making it.
/// While it is stopped at the call, the kernel hides one of its registers.
pub(crate) fn take_back(thread: &mut Tracee) -> io::Result<()> {
    thread.set(NT_ARM_SYSTEM_CALL as usize, &mut NONE.to_le_bytes())?;
    thread.interrupt()?;
    // That stop comes before any signal.
    thread.resume(libc::PTRACE_CONT)?;
    while thread.wait_for(None)? != Some(Stop::Interrupted) {
        thread.resume(libc::PTRACE_CONT)?;
    }
    Ok(())
}

/// The system call that a thread is waiting in, if it is in one. Asked just before the thread is stopped: its first
/// argument is lost when the call ends with `EINTR`. So a call that begins only then ends so for the program, too.
pub(crate) fn system_call_of(thread: u32) -> Option<SystemCall> {
    let told = std::fs::read_to_string(format!("/proc/{thread}/syscall")).ok()?;
    let mut words = told.split_ascii_whitespace();
    let number = words.next()?.parse().ok()?;
    let words: Vec<u64> =
        words.map_while(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()).collect();
    let &[first, .., stack, end] = words.as_slice() else { return None };
    Some(SystemCall { number, first, stack, end })
}

/// Sets a thread's hardware breakpoint to an instruction, or clears it.
pub(crate) fn set_breakpoint(thread: &Tracee, address: Option<u64>) -> io::Result<()> {
    let control = if address.is_some() { BREAKS } else { 0 };
    // An unused word, the address, and how to break there.
    let words = [0, address.unwrap_or(0), control.into()];
    thread.set_words(NT_ARM_HW_BREAK as usize, &words)
}

/// The part of a thread's vector state that can hold addresses.
pub(crate) fn vector_registers(state: &[u8]) -> &[u8] {
    state
}

/// Whether a library's code can run with this vector state.
pub(crate) fn can_call(vectors: &[u8]) -> bool {
    vectors.len() >= VECTORS
}
