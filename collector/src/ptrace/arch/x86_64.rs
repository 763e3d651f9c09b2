//! x86-64. A function returns to an address that is never mapped, and the thread faults. A thread that was stopped in
//! a system call has its number in `orig_rax`, and in `rax` a code that says how the kernel would go on with it.

pub(crate) mod way_back;

use super::{CUT, REPEATED};
use crate::ptrace::tracee::Tracee;
use libc::{c_uint, user, user_regs_struct};
use object::elf::{EM_X86_64, NT_PRSTATUS, R_X86_64_64, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT};
use std::io;
use std::mem::offset_of;
use unwind::CodeAddress;

/// Modules for this processor, and their relocations that store a symbol's address: plain, in a table, and in the
/// table of functions that may be bound at their first call.
pub(crate) const MACHINE: u16 = EM_X86_64;
pub(crate) const ABSOLUTE: u32 = R_X86_64_64;
pub(crate) const IN_TABLE: u32 = R_X86_64_GLOB_DAT;
pub(crate) const LAZY: u32 = R_X86_64_JUMP_SLOT;

/// The vector registers and related state: `NT_X86_XSTATE`.
pub(crate) const VECTOR_SETS: [usize; 1] = [0x202];
/// A call ends with a fault, which would reset a SIGSEGV that the process ignores to its default.
pub(crate) const RETURNS_BY_FAULT: bool = true;
/// How a thread runs a function for us.
pub(crate) const RESUME: c_uint = libc::PTRACE_CONT;
/// System calls in which programs wait that newer architectures do without.
pub(crate) const OLD_WAITS: [i64; 4] =
    [libc::SYS_poll, libc::SYS_select, libc::SYS_epoll_wait, libc::SYS_pause];

/// Where functions return to: the start of the kernel's half of the address space, where nothing is ever mapped.
const NOWHERE: u64 = 0xffff_8000_0000_0000;
/// The direction and single-step flags.
const FLAGS: u64 = 0x400 | 0x100;
/// Results of system calls that the kernel restarts, in its internal numbering: after any handler, or after handlers
/// that ask for it.
const RESTART: [i64; 2] = [-512, -513];
/// The same; restarted only if no handler ran.
const RESTART_ALONE: i64 = -514;
const RESTART_BLOCK: i64 = -516;
/// No system call.
const NONE: u64 = u64::MAX;
/// Offset of the debug registers in `struct user`.
const DEBUG_REGISTERS: usize = offset_of!(user, u_debugreg);
/// The state saved by `fxsave` begins with the last x87 instruction and the like, which does not matter.
const LAST_INSTRUCTION: usize = 32;

/// The index of a register among those of a thread.
macro_rules! at {
    ($register:ident) => {
        offset_of!(user_regs_struct, $register) / 8
    };
}
use at;

const RAX: usize = at!(rax);
const ORIG_RAX: usize = at!(orig_rax);
const RSP: usize = at!(rsp);
const RIP: usize = at!(rip);

/// A stopped thread's registers, as in `user_regs_struct`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registers([u64; size_of::<user_regs_struct>() / 8]);

impl Registers {
    pub(crate) fn of(thread: &Tracee) -> io::Result<Registers> {
        Ok(Registers(thread.words(NT_PRSTATUS as usize)?))
    }

    pub(crate) fn put(&self, thread: &Tracee) -> io::Result<()> {
        thread.set_words(NT_PRSTATUS as usize, &self.0)
    }

    /// The stack pointer.
    pub(crate) fn stack(&self) -> u64 {
        self.0[RSP]
    }

    /// Where a walk of its stack begins.
    pub(crate) fn start(&self) -> unwind::Registers {
        unwind::Registers { ip: CodeAddress::Exact(self.0[RIP]), sp: self.0[RSP], bp: self.0[at!(rbp)] }
    }

    /// Calls leave no return address in a register.
    pub(crate) fn link(&self) -> Option<u64> {
        None
    }

    pub(crate) fn thread_pointer(&self) -> u64 {
        self.0[at!(fs_base)]
    }

    /// The registers that can hold an address.
    pub(crate) fn addresses(&self) -> Vec<u64> {
        let others = [ORIG_RAX, RIP, at!(cs), at!(eflags), at!(ss), at!(ds), at!(es), at!(fs), at!(gs)];
        let all = self.0.iter().enumerate();
        all.filter(|(at, _)| !others.contains(at)).map(|(_, word)| *word).collect()
    }

    /// The number of the system call that the thread was in when it stopped.
    pub(crate) fn system_call(&self) -> Option<i64> {
        Some(self.0[ORIG_RAX].cast_signed()).filter(|call| *call >= 0)
    }

    /// Makes the thread repeat the system call that it just came from, if that has ended only because of us.
    pub(crate) fn repeat_cut(&mut self) -> bool {
        let is_cut = self.is_cut();
        if is_cut {
            self.again(self.0[ORIG_RAX]);
        }
        is_cut
    }

    fn is_cut(&self) -> bool {
        self.0[RAX] == CUT
            && self.system_call().is_some_and(|call| REPEATED.contains(&call) || call == libc::SYS_epoll_wait)
    }

    fn again(&mut self, call: u64) {
        self.0[RAX] = call;
        self.0[ORIG_RAX] = NONE;
        self.0[RIP] = self.0[RIP].wrapping_sub(2);
    }

    /// The thread is to call functions.
    pub(crate) fn prepare(&mut self, _: &mut Tracee) -> io::Result<bool> {
        Ok(true)
    }

    /// The registers with which the thread resumes its old work. The kernel restarts interrupted system calls only on
    /// its own way back from them, and this is another way.
    pub(crate) fn resumed(&self, has_signal: impl FnOnce() -> bool) -> Registers {
        let mut resumed = *self;
        let (call, result) = (self.0[ORIG_RAX], self.0[RAX].cast_signed());
        resumed.0[ORIG_RAX] = NONE;
        if call.cast_signed() < 0 {
            return resumed;
        }
        let ends_at_handlers = matches!(result, RESTART_ALONE | RESTART_BLOCK) || self.is_cut();
        if ends_at_handlers && has_signal() {
            resumed.0[RAX] = CUT;
        } else if result == RESTART_BLOCK {
            resumed.again(libc::SYS_restart_syscall.cast_unsigned());
        } else if ends_at_handlers || RESTART.contains(&result) {
            resumed.again(call);
        }
        resumed
    }

    /// The registers with which the thread calls a function with two integer arguments. `stack` is where the return
    /// address lies.
    pub(crate) fn calling(
        &self,
        thread: &Tracee,
        function: u64,
        arguments: [u64; 2],
        stack: u64,
        _restorer: u64,
    ) -> io::Result<Registers> {
        thread.poke(stack, NOWHERE)?;
        let mut calling = *self;
        [calling.0[at!(rdi)], calling.0[at!(rsi)]] = arguments;
        calling.0[RIP] = function;
        calling.0[RSP] = stack;
        // No variadic argument is in a vector register.
        calling.0[RAX] = 0;
        calling.0[ORIG_RAX] = NONE;
        calling.0[at!(eflags)] &= !FLAGS;
        Ok(calling)
    }

    /// The function's result, if it has returned.
    pub(crate) fn result(&self, stack: u64, _restorer: u64) -> Option<u64> {
        ((self.0[RIP], self.0[RSP]) == (NOWHERE, stack.wrapping_add(8))).then_some(self.0[RAX])
    }
}

/// Brings a thread whose function has returned to where its registers can be set: it is there.
pub(crate) fn take_back(thread: &mut Tracee) -> io::Result<()> {
    thread.forget_signal();
    Ok(())
}

/// What has to be known of a thread's system call before the thread is stopped.
pub(crate) type SystemCall = ();

/// Nothing has to be.
pub(crate) fn system_call_of(_thread: u32) -> Option<SystemCall> {
    None
}

/// Sets a thread's hardware breakpoint to an instruction, or clears it.
pub(crate) fn set_breakpoint(thread: &Tracee, address: Option<u64>) -> io::Result<()> {
    let set = |register: usize, value: u64| thread.poke_user(DEBUG_REGISTERS + 8 * register, value);
    set(7, 0)?;
    address.map_or(Ok(()), |address| {
        set(0, address)?;
        // Enables the first breakpoint, for this thread, on execution.
        set(7, 1)
    })
}

/// The part of a thread's vector state that can hold addresses.
pub(crate) fn vector_registers(state: &[u8]) -> &[u8] {
    state.get(LAST_INSTRUCTION..).unwrap_or_default()
}

/// Whether a library's code can run with this vector state.
pub(crate) fn can_call(_vectors: &[u8]) -> bool {
    true
}
