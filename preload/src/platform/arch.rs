//! Everything that depends on the processor, and the system calls that bypass libc.

#[cfg_attr(target_arch = "x86_64", path = "arch/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "arch/aarch64.rs")]
mod machine;

pub(crate) use machine::*;

use crate::platform::thread_local::ThreadLocal;
use core::arch::global_asm;

// Initial-exec TLS on stable Rust: in a shared library `thread_local!` would use the general-dynamic model, whose
// first access may allocate.
global_asm!(
    ".pushsection .tdata.sysprof_memprof,\"awT\",@progbits",
    ".balign {alignment}",
    ".globl sysprof_memprof_tls",
    ".hidden sysprof_memprof_tls",
    ".type sysprof_memprof_tls,@object",
    "sysprof_memprof_tls:",
    ".long 0xffffffff",
    ".zero 36",
    ".quad {undrawn}",
    ".zero 16",
    ".size sysprof_memprof_tls, 64",
    ".popsection",
    alignment = const ALIGNMENT,
    undrawn = const crate::platform::thread_local::UNDRAWN,
);

/// A line of the cache where the loader grants it: into a running process it loads no library whose block is aligned
/// to more than the thread's own, which is 16 bytes at least.
const ALIGNMENT: usize = if cfg!(target_arch = "x86_64") { 64 } else { 16 };

/// The calling thread's block.
#[inline(always)]
pub(crate) fn thread_local() -> &'static ThreadLocal {
    // SAFETY: the block has the type's size and alignment, every bit pattern is valid for it, and it lives as long as
    // the thread; the type is not Sync, so the reference stays in the thread.
    unsafe { &*thread_block() }
}

/// Registers of the function this is inlined into: its own address, stack pointer and frame pointer.
#[inline(always)]
pub(crate) fn here() -> unwind::Registers {
    unwind::Registers::here()
}

/// Flags of `clone` for a thread that only makes system calls: it shares everything with the process, and its id is
/// stored before it runs.
const BESIDE: i32 = libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SIGHAND
    | libc::CLONE_SYSVSEM
    | libc::CLONE_THREAD
    | libc::CLONE_PARENT_SETTID;

/// Asks the kernel whether the word at `address` can be read, without any effect: `rt_sigprocmask` first copies the
/// set (EFAULT) and then rejects the invalid `how` (EINVAL). No other answer says anything: address 0 means no set at
/// all, and a sandbox has errors of its own.
#[cold]
pub(crate) fn probe(address: u64) -> bool {
    const NO_HOW: u64 = u64::MAX;
    // SAFETY: with an invalid `how` the system call changes nothing; an unreadable address is its error EFAULT.
    let result = unsafe { system_call(libc::SYS_rt_sigprocmask, [NO_HOW, address, 0, SIGNALS, 0, 0]) };
    result == -i64::from(libc::EINVAL)
}

/// Size of the kernel's signal sets in bytes.
const SIGNALS: u64 = 8;

/// Replaces the calling thread's signal mask, one bit for each signal, and returns the previous one.
#[cold]
pub(crate) fn block_signals(blocked: u64) -> u64 {
    let mut before = 0_u64;
    let how = libc::SIG_SETMASK as u64;
    let arguments = [how, place(&raw const blocked), place(&raw mut before), SIGNALS, 0, 0];
    // SAFETY: the system call reads one word and writes one; both are ours and have the size it is told.
    unsafe { system_call(libc::SYS_rt_sigprocmask, arguments) };
    before
}

/// `process_vm_readv` of one range: returns the bytes copied, or the negated error.
#[cold]
pub(crate) fn copy_from_process(pid: u32, to: &libc::iovec, from: &libc::iovec) -> i64 {
    let arguments = [pid.into(), place(&raw const *to), 1, place(&raw const *from), 1, 0];
    // SAFETY: the kernel checks both ranges, and writes only into `to`, whose owner lent it for that.
    unsafe { system_call(libc::SYS_process_vm_readv, arguments) }
}

/// `tgkill` without a signal: 0, or the negated error.
#[cold]
pub(crate) fn probe_thread(pid: u32, thread: u32) -> i64 {
    // SAFETY: signal 0 delivers nothing.
    unsafe { system_call(libc::SYS_tgkill, [pid.into(), thread.into(), 0, 0, 0, 0]) }
}

/// `tkill` without a signal, which finds a thread of any process: 0, or the negated error.
#[cold]
pub(crate) fn probe_any_thread(thread: u32) -> i64 {
    // SAFETY: signal 0 delivers nothing.
    unsafe { system_call(libc::SYS_tkill, [thread.into(), 0, 0, 0, 0, 0]) }
}

/// `getsockopt(SO_PEERCRED)`: who is at the other end of a socket. The pid is 0 when the peer is outside our pid
/// namespace, which rustix's types cannot represent.
#[cold]
pub(crate) fn peer_of(socket: i32) -> Option<libc::ucred> {
    let mut peer = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET as u64, libc::SO_PEERCRED as u64);
    let arguments = [socket as u64, level, option, place(&raw mut peer), place(&raw mut length), 0];
    // SAFETY: the kernel writes into both, at most as many bytes as the second says, which is the size of the first.
    let result = unsafe { system_call(libc::SYS_getsockopt, arguments) };
    (result == 0).then_some(peer)
}

/// The limits of this process' address space in bytes; `None` when a filter refuses the question, which rustix takes
/// for impossible.
pub(crate) fn limits_of_address_space() -> Option<[u64; 2]> {
    let mut limits = [0_u64; 2];
    let arguments = [0, libc::RLIMIT_AS as u64, 0, place(&raw mut limits), 0, 0];
    // SAFETY: the kernel writes two words, the limit and its maximum, and there is room for two.
    let result = unsafe { system_call(libc::SYS_prlimit64, arguments) };
    (result == 0).then_some(limits)
}

/// `CLOCK_MONOTONIC_RAW` in seconds and nanoseconds, by a system call.
#[cold]
pub(crate) fn monotonic_raw() -> [u64; 2] {
    let mut now = [0_u64; 2];
    // SAFETY: the kernel writes two words, and there is room for two.
    unsafe {
        system_call(
            libc::SYS_clock_gettime,
            [libc::CLOCK_MONOTONIC_RAW as u64, place(&raw mut now), 0, 0, 0, 0],
        )
    };
    now
}

/// What the kernel says about this thread's alternate signal stack: `SS_ONSTACK` while the thread runs on it,
/// `SS_DISABLE` when there is none; `None` when the kernel does not answer.
#[cold]
pub(crate) fn signal_stack() -> Option<i32> {
    let mut stack = core::mem::MaybeUninit::<libc::stack_t>::zeroed();
    // SAFETY: only a query, into memory that is large enough; the kernel judges by the stack pointer of this call.
    let result = unsafe { system_call(libc::SYS_sigaltstack, [0, place(stack.as_mut_ptr()), 0, 0, 0, 0]) };
    // SAFETY: zeroed, which is valid, or filled in.
    (result == 0).then(|| unsafe { stack.assume_init() }.ss_flags)
}

/// Ends the process at once.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: ends the whole process.
    unsafe { system_call(libc::SYS_exit_group, [code as u64, 0, 0, 0, 0, 0]) };
    trap()
}

/// A pointer as a system call's argument.
fn place<T>(pointer: *const T) -> u64 {
    pointer.expose_provenance() as u64
}
