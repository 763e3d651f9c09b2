//! System calls that a program has forbidden to itself, and that the agent has to do without.
//!
//! A seccomp filter that is installed while the program runs allows what the program needs, and it does not need what
//! the agent does: to make a forbidden call would be its death. So the hooks of `prctl` and `syscall` look at a filter
//! before the kernel gets it, and ask it what it would say to each call of the agent's. What it forbids is not done any
//! more, by any thread:
//!
//! | forbidden | what is done instead |
//! |---|---|
//! | asking for readable pages | only pages that are known, and those of the main stack, are read; stacks may end early |
//! | mapping, thread ids | threads that have no ring yet are not recorded, and their events counted; the others' memory is opened before |
//! | futex | the collector finds events by itself; threads wait for room by looking again |
//! | process ids, signal stacks, threads | what they would tell is taken for unknown |
//! | limits of memory | what the agent maps from then on counts against the program's |
//! | reading files | programs are started behind us, also those that refuse |
//! | the time stamp counter, by `prctl` | the thread is not recorded any longer, nor are those that have no ring yet; their events are counted |
//! | whatever begins a recording | programs are started without the agent, as the filter stays |
//! | anything at all | a recording that was left is not tidied up, and no other one is begun |
//!
//! Calls that merely fail under the filter need no care, but those for memory, which is opened before. `SECCOMP_MODE_STRICT` leaves a thread nothing but to read and
//! write, not even the time: it is not recorded any longer. A filter that was there before the program began, as those of
//! services and containers, is not seen: who has the agent record asks it before ([`system_calls`]).

use crate::arch;
use crate::guard::{self, Busy};
use crate::pieces;
use crate::stack::Caller;
use crate::thread_local::Vforked;
use core::sync::atomic::{AtomicU32, Ordering};
use shared_ring::bpf::{Call, Instruction};
use shared_ring::system_calls::{self, Answer};

/// What the agent makes system calls for: bits of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Need {
    /// To ask whether pages can be read.
    Probe = 1,
    /// To map and to open memory, for threads that begin.
    Map = 2,
    /// To wait, and to wake.
    Futex = 4,
    /// To know in which process this is.
    ProcessId = 8,
    /// To know on which stack this is.
    SignalStack = 16,
    /// To leave a recording, and to begin another.
    Leave = 32,
    /// To read the file of a program that is to be started.
    Files = 64,
    /// To ask which threads are gone.
    Threads = 128,
    /// To read the time stamp counter. Each thread has this right or not, and those that it makes have what it has.
    Counter = 256,
    /// To know, and to change, the limit on address space.
    Limits = 512,
    /// To begin a recording: none of [`system_calls::CALLS`] is deadly.
    Begin = 1024,
}

/// All calls of the agent that may still come in a recorded process.
// Addresses and lengths are such as the agent's own; no filter can see what they point to.
const CALLS: &[(Need, Call)] = &[
    (Need::Probe, call(libc::SYS_rt_sigprocmask, [u64::MAX, 1 << 46, 0, 8, 0, 0])),
    (Need::Map, call(libc::SYS_mmap, [0, 1 << 20, 3, PRIVATE, u64::MAX, 0])),
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
];

const AT_FDCWD: u64 = libc::AT_FDCWD as u64;
/// Some descriptor.
const FILE: u64 = 3;
const PRIVATE: u64 = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as u64;

const fn call(number: i64, arguments: [u64; 6]) -> Call {
    Call { number, arguments }
}

const BEGIN: u32 = Need::Begin as u32;
const FILES: u32 = Need::Files as u32;

/// The needs that are forbidden. Copied by fork, as filters are.
// Relaxed everywhere: a thread that installs a filter for all others, who are at work, is as late as it is.
static FORBIDDEN: AtomicU32 = AtomicU32::new(0);

/// The needs that are forbidden to the calling thread.
fn forbidden() -> u32 {
    FORBIDDEN.load(Ordering::Relaxed) | in_vfork(arch::thread_local().vforked())
}

/// Those of a child of vfork, which may forbid itself what its parent may still do. Its memory is its parent's, so there is but a byte
/// for it: all count as forbidden when any is, except for the two that decide how it executes a program.
fn in_vfork(child: Vforked) -> u32 {
    [(child.may_not_begin, BEGIN), (child.may_not_read, FILES), (child.is_confined, !(BEGIN | FILES))]
        .into_iter()
        .filter(|(is_so, _)| *is_so)
        .fold(0, |all, (_, needs)| all | needs)
}

/// True while nothing forbids this.
pub(crate) fn allows(need: Need) -> bool {
    forbidden() & need as u32 == 0
}

/// True once anything is forbidden.
pub(crate) fn is_confined() -> bool {
    forbidden() != 0
}

/// The process was forked just now, perhaps by a child of vfork: then it has memory of its own again, and what that child had forbidden
/// itself holds for all of it.
#[cold]
pub(crate) fn leave_vfork() {
    let local = arch::thread_local();
    FORBIDDEN.fetch_or(in_vfork(local.vforked()), Ordering::Relaxed);
    local.set_vforked(Vforked::default());
}

/// A mode or filter that is about to be installed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule<'a> {
    /// `SECCOMP_MODE_STRICT`.
    Strict,
    /// `PR_TSC_SIGSEGV`: to read the time stamp counter is a fault.
    Counter,
    /// A filter.
    Filter(&'a [Instruction]),
    /// One that cannot be read; the kernel will not take it.
    Unreadable,
}

/// Prepares for a rule; what is to be undone if it is not installed.
#[must_use]
#[derive(Debug)]
pub(crate) struct Prepared {
    forbidden: u32,
    is_muted: bool,
    vforked: Vforked,
}

/// A rule is about to be installed.
#[cold]
pub(crate) fn prepare(rule: Rule<'_>) -> Prepared {
    let local = arch::thread_local();
    let vforked = local.vforked();
    let is_muted = !vforked.is_it && matches!(rule, Rule::Strict | Rule::Counter);
    let before = Prepared { forbidden: FORBIDDEN.load(Ordering::Relaxed), is_muted, vforked };
    if vforked.is_it {
        local.set_vforked(confined(vforked, rule));
        return before;
    }
    match rule {
        Rule::Unreadable => {}
        Rule::Strict => local.mute(),
        Rule::Counter => {
            // What it does from here on is lost, and nothing of that has a time.
            if let Some(mut busy) = Busy::enter_to_tell() {
                busy.state().begin_gap();
            }
            local.mute();
            FORBIDDEN.fetch_or(Need::Counter as u32, Ordering::Relaxed);
        }
        Rule::Filter(program) => {
            let forbidden = forbidden_by(program);
            if forbidden & !before.forbidden != 0
                && let Some(mut busy) = Busy::enter(guard::Call::Other, Caller::here())
            {
                busy.state().learn_stack();
                if forbidden & Need::Map as u32 != 0 {
                    pieces::open_all();
                }
            }
            FORBIDDEN.fetch_or(forbidden, Ordering::Relaxed);
        }
    }
    before
}

/// What a child of vfork may still do under a rule of its own.
fn confined(child: Vforked, rule: Rule<'_>) -> Vforked {
    let forbidden = match rule {
        Rule::Unreadable => 0,
        // What it executes finds out by itself.
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

/// The calling thread may read the counter again. Those that it has made meanwhile may not, nor, if it is a child of vfork, may its parent.
#[cold]
pub(crate) fn allow_counter() {
    let local = arch::thread_local();
    if !local.is_in_vfork() {
        local.unmute();
    }
}

/// Finds out what a process was forbidden before it began, as far as that can be asked.
#[cold]
pub(crate) fn learn() {
    use rustix::process::{TimeStampCounterReadability, time_stamp_counter_readability};
    if time_stamp_counter_readability() == Ok(TimeStampCounterReadability::RaiseSIGSEGV) {
        FORBIDDEN.fetch_or(Need::Counter as u32, Ordering::Relaxed);
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
        FORBIDDEN.store(self.forbidden, Ordering::Relaxed);
    }
}

/// What a filter forbids on pain of death or of waiting for somebody else's answer. One that cannot be understood forbids
/// everything.
fn forbidden_by(program: &[Instruction]) -> u32 {
    let now = CALLS.iter().filter(|(need, call)| !is_harmless(*need, Answer::of(program, call)));
    let now = now.fold(0, |all, (need, _)| all | *need as u32);
    let is_deadly = |call: &system_calls::AgentCall| Answer::of(program, &call.call) == Answer::Deadly;
    if system_calls::CALLS.iter().any(is_deadly) { now | Need::Begin as u32 } else { now }
}

/// True of answers that let a call through, or let one fail that may.
fn is_harmless(need: Need, answer: Answer) -> bool {
    match answer {
        Answer::Allowed => true,
        Answer::Refused => need != Need::Map,
        Answer::Deadly => false,
    }
}
