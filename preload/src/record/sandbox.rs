//! System calls that a program has forbidden itself, and that the agent must then avoid.
//!
//! A seccomp filter that is installed while the program runs allows what the program needs, which does not include
//! what the agent does; a forbidden call would kill the process. So the hooks of `prctl` and `syscall` inspect a
//! filter before the kernel gets it, and evaluate it for each call that the agent makes. From then on no thread makes
//! a forbidden call:
//!
//! | forbidden | what is done instead |
//! |---|---|
//! | asking for readable pages | only known pages and those of the main stack are read; stacks may end early |
//! | mapping, thread ids | threads without a ring are not recorded, and their events are counted; the memory of the others is opened in advance |
//! | futex | the collector finds events by itself; threads wait for room by polling |
//! | process ids, signal stacks, threads | their answers count as unknown |
//! | limits of memory | what the agent maps from then on counts against the program's limit |
//! | reading the list of mappings | the collector reads it, or libraries that are loaded from then on have no names |
//! | reading files | programs are started with the agent, also those that refuse it |
//! | the time stamp counter, by `prctl` | the thread is not recorded any longer, nor are threads without a ring; their events are counted |
//! | whatever begins a recording | programs are started without the agent, since the filter stays |
//! | anything at all | a recording that was left is not tidied up, and no other one is begun |
//!
//! Calls that merely fail under the filter need no care, except those for memory, which is opened in advance.
//! `SECCOMP_MODE_STRICT` leaves a thread only `read` and `write`, not even the time, so it is not recorded any
//! longer. A filter that was installed before the program began, such as a service's or container's, cannot be seen;
//! the collector checks it beforehand ([`system_calls`]).

use crate::platform::allowed_calls::{self, BEGIN, FILES, Need};
use crate::platform::arch;
use crate::platform::thread_local::Vforked;
use crate::process::accessible;
use crate::record::guard::{self, HookGuard};
use crate::thread::stack::Caller;
use shared_ring::bpf::{Call, Instruction};
use shared_ring::system_calls::{self, Answer};

/// All calls of the agent that may still come in a recorded process.
// Addresses and lengths are typical of the agent's own; no filter can see what they point to.
const CALLS: &[(Need, Call)] = &[
    (Need::Probe, call(libc::SYS_rt_sigprocmask, [u64::MAX, 1 << 46, 0, 8, 0, 0])),
    (Need::Map, call(libc::SYS_mmap, [0, 1 << 20, 0, PRIVATE, u64::MAX, 0])),
    (Need::Map, call(libc::SYS_mmap, [1 << 46, 1 << 20, 3, PRIVATE | libc::MAP_FIXED as u64, u64::MAX, 0])),
    (Need::Map, call(libc::SYS_munmap, [1 << 46, 1 << 20, 0, 0, 0, 0])),
    (Need::Map, call(libc::SYS_mprotect, [1 << 46, 1 << 20, 3, 0, 0, 0])),
    (Need::Map, call(libc::SYS_madvise, [1 << 46, 1 << 20, libc::MADV_DONTDUMP as u64, 0, 0, 0])),
    (Need::Map, call(libc::SYS_madvise, [1 << 46, 1 << 20, libc::MADV_RANDOM as u64, 0, 0, 0])),
    (Need::Map, call(libc::SYS_gettid, [0; 6])),
    (Need::Futex, call(libc::SYS_futex, [1 << 46, libc::FUTEX_WAIT as u64, 0, 1 << 46, 0, 0])),
    (Need::Futex, call(libc::SYS_futex, [1 << 46, libc::FUTEX_WAKE as u64, 1, 0, 0, 0])),
    (Need::ProcessId, call(libc::SYS_getpid, [0; 6])),
    (Need::Map, call(libc::SYS_rt_sigprocmask, [libc::SIG_SETMASK as u64, 1 << 46, 1 << 46, 8, 0, 0])),
    (Need::Leave, call(libc::SYS_membarrier, [libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED as u64, 0, 0, 0, 0, 0])),
    (Need::Leave, call(libc::SYS_process_vm_readv, [1, 1 << 46, 1, 1 << 46, 1, 0])),
    (Need::Leave, call(libc::SYS_tgkill, [1, 1, 0, 0, 0, 0])),
    (Need::Leave, call(libc::SYS_socket, [libc::AF_UNIX as u64, libc::SOCK_SEQPACKET as u64, 0, 0, 0, 0])),
    (Need::Threads, call(libc::SYS_tkill, [1, 0, 0, 0, 0, 0])),
    (Need::SignalStack, call(libc::SYS_sigaltstack, [0, 1 << 46, 0, 0, 0, 0])),
    (Need::Limits, call(libc::SYS_prlimit64, [0, libc::RLIMIT_AS as u64, 1 << 46, 0, 0, 0])),
    (Need::Limits, call(libc::SYS_prlimit64, [0, libc::RLIMIT_AS as u64, 0, 1 << 46, 0, 0])),
    (Need::Files, call(libc::SYS_newfstatat, [AT_FDCWD, 1 << 46, 1 << 46, 0, 0, 0])),
    #[cfg(target_arch = "x86_64")]
    (Need::Files, call(libc::SYS_access, [1 << 46, libc::R_OK as u64, 0, 0, 0, 0])),
    #[cfg(not(target_arch = "x86_64"))]
    (Need::Files, call(libc::SYS_faccessat, [AT_FDCWD, 1 << 46, libc::R_OK as u64, 0, 0, 0])),
    (Need::Files, call(libc::SYS_openat, [AT_FDCWD, 1 << 46, libc::O_CLOEXEC as u64, 0, 0, 0])),
    (Need::Files, call(libc::SYS_pread64, [FILE, 1 << 46, 64, 0, 0, 0])),
    (Need::Files, call(libc::SYS_close, [FILE, 0, 0, 0, 0, 0])),
    (Need::Mappings, call(libc::SYS_openat, [AT_FDCWD, 1 << 46, libc::O_CLOEXEC as u64, 0, 0, 0])),
    (Need::Mappings, call(libc::SYS_read, [FILE, 1 << 46, 1 << 20, 0, 0, 0])),
    (Need::Mappings, call(libc::SYS_newfstatat, [AT_FDCWD, 1 << 46, 1 << 46, 0, 0, 0])),
    (Need::Mappings, call(libc::SYS_close, [FILE, 0, 0, 0, 0, 0])),
];

const AT_FDCWD: u64 = libc::AT_FDCWD as u64;
/// Any descriptor.
const FILE: u64 = 3;
const PRIVATE: u64 = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as u64;

const fn call(number: i64, arguments: [u64; 6]) -> Call {
    Call { number, arguments }
}

/// A mode or filter that is about to be installed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule<'a> {
    /// `SECCOMP_MODE_STRICT`.
    Strict,
    /// `PR_TSC_SIGSEGV`: reading the time stamp counter faults.
    Counter,
    /// A filter.
    Filter(&'a [Instruction]),
    /// A filter that cannot be read; the kernel will not accept it.
    Unreadable,
}

/// What was prepared for a rule, and must be undone if the rule is not installed.
#[must_use]
#[derive(Debug)]
pub(crate) struct Prepared {
    forbidden: u32,
    is_muted: bool,
    vforked: Vforked,
}

/// Prepares for a rule that is about to be installed.
#[cold]
pub(crate) fn prepare(rule: Rule<'_>) -> Prepared {
    let local = arch::thread_local();
    let vforked = local.vforked();
    let is_muted = !vforked.is_it && matches!(rule, Rule::Strict | Rule::Counter);
    let before = Prepared { forbidden: allowed_calls::forbidden_to_all(), is_muted, vforked };
    if vforked.is_it {
        local.set_vforked(confined(vforked, rule));
        return before;
    }
    match rule {
        Rule::Unreadable => {}
        Rule::Strict => local.mute(),
        Rule::Counter => {
            // From here on the thread's events are lost, and none of them has a time.
            if let Some(mut hook) = HookGuard::enter_to_tell() {
                hook.state().begin_gap();
            }
            local.mute();
            allowed_calls::forbid(Need::Counter as u32);
        }
        Rule::Filter(program) => {
            let forbidden = forbidden_by(program);
            if forbidden & !before.forbidden != 0
                && let Some(mut hook) = HookGuard::enter(guard::Call::Other, Caller::here())
            {
                hook.state().learn_stack();
                if forbidden & Need::Map as u32 != 0 {
                    accessible::commit_all();
                }
            }
            allowed_calls::forbid(forbidden);
        }
    }
    before
}

/// What a child of vfork may still do under a rule of its own.
fn confined(child: Vforked, rule: Rule<'_>) -> Vforked {
    let forbidden = match rule {
        Rule::Unreadable => 0,
        // The program that it executes finds out by itself.
        Rule::Counter => Need::Counter as u32,
        Rule::Strict => u32::MAX,
        Rule::Filter(program) => forbidden_by(program),
    };
    Vforked {
        is_confined: child.is_confined || forbidden & !(BEGIN | FILES) != 0,
        may_not_begin: child.may_not_begin || forbidden & BEGIN != 0,
        may_not_read: child.may_not_read || forbidden & FILES != 0,
        ..child
    }
}

/// The calling thread may read the counter again. Threads that it has created meanwhile may not; nor, if it is a
/// child of vfork, may its parent.
#[cold]
pub(crate) fn allow_counter() {
    let local = arch::thread_local();
    if !local.is_in_vfork() {
        local.unmute();
    }
}

impl Prepared {
    /// The rule was not installed.
    pub(crate) fn undo(self) {
        if self.is_muted {
            arch::thread_local().unmute();
        }
        if self.vforked.is_it {
            return arch::thread_local().set_vforked(self.vforked);
        }
        allowed_calls::forbid_only(self.forbidden);
    }
}

/// What a filter forbids: a call that would kill the process, or wait for somebody else's answer. A filter that
/// cannot be understood forbids everything.
fn forbidden_by(program: &[Instruction]) -> u32 {
    let now = CALLS.iter().filter(|(need, call)| !is_harmless(*need, Answer::of(program, call)));
    let now = now.fold(0, |all, (need, _)| all | *need as u32);
    let is_deadly = |call: &system_calls::AgentCall| Answer::of(program, &call.call) == Answer::Deadly;
    if system_calls::CALLS.iter().any(is_deadly) { now | Need::Begin as u32 } else { now }
}

/// True for answers that let a call through, or let a call fail that may fail.
fn is_harmless(need: Need, answer: Answer) -> bool {
    match answer {
        Answer::Allowed => true,
        Answer::Refused => need != Need::Map,
        Answer::Deadly => false,
    }
}
