//! What depends on the processor, and the system calls that go past libc.

#[cfg_attr(target_arch = "x86_64", path = "arch/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "arch/aarch64.rs")]
mod machine;

pub(crate) use machine::*;

use crate::thread_local::ThreadLocal;
use core::arch::global_asm;

// Initial-exec on stable Rust: `thread_local!` would be general-dynamic in a shared library, and its first access
// may allocate.
global_asm!(
    ".pushsection .tdata.sysprof_memprof,\"awT\",@progbits",
    ".balign 64",
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
    undrawn = const crate::sampler::UNDRAWN,
);

/// The calling thread's block.
#[inline(always)]
pub(crate) fn thread_local() -> &'static ThreadLocal {
    // SAFETY: the block is as large and aligned as the type, all bits are valid for it, and it lives as long as the
    // thread; the type is not Sync, so the reference stays in the thread.
    unsafe { &*thread_block() }
}

/// Registers of the function this is inlined into: its own address, stack pointer and frame pointer.
#[inline(always)]
pub(crate) fn here() -> unwind::Registers {
    unwind::Registers::here()
}

/// What a thread has that only makes system calls: everything of the process, and whose id is told before it runs.
const BESIDE: i32 = libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SIGHAND
    | libc::CLONE_SYSVSEM
    | libc::CLONE_THREAD
    | libc::CLONE_PARENT_SETTID;

/// Whether the word at `address` can be read, asked of the kernel, which does nothing else: `rt_sigprocmask` copies
/// the set first (EFAULT) and then finds that `how` is none (EINVAL). Any other answer says nothing: no set at all for
/// address 0, a sandbox's errors. Where asking is forbidden, nothing is.
#[cold]
pub(crate) fn is_readable(address: u64) -> bool {
    if !crate::sandbox::allows(crate::sandbox::Need::Probe) {
        return false;
    }
    const NO_HOW: u64 = u64::MAX;
    // SAFETY: with an invalid `how` the system call changes nothing; an unreadable address is its error EFAULT.
    let result = unsafe { system_call(libc::SYS_rt_sigprocmask, [NO_HOW, address, 0, SIGNALS, 0, 0]) };
    result == -i64::from(libc::EINVAL)
}

/// Bytes of the kernel's signal sets.
const SIGNALS: u64 = 8;

/// Replaces the signals that the calling thread blocks, one bit each, and returns those that it blocked before.
#[cold]
pub(crate) fn block_signals(blocked: u64) -> u64 {
    let mut before = 0_u64;
    let how = libc::SIG_SETMASK as u64;
    let arguments = [how, place(&raw const blocked), place(&raw mut before), SIGNALS, 0, 0];
    // SAFETY: the system call reads one word and writes one, both ours, of the size that it is told.
    unsafe { system_call(libc::SYS_rt_sigprocmask, arguments) };
    before
}

/// `process_vm_readv` of one range: bytes copied, or the negated error.
#[cold]
pub(crate) fn copy_from_process(pid: u32, to: &libc::iovec, from: &libc::iovec) -> i64 {
    let arguments = [pid.into(), place(&raw const *to), 1, place(&raw const *from), 1, 0];
    // SAFETY: the kernel checks both ranges, and writes only into `to`, whose owner lent it for that.
    unsafe { system_call(libc::SYS_process_vm_readv, arguments) }
}

/// `tgkill` without a signal: 0, or the negated error.
#[cold]
pub(crate) fn probe_thread(pid: u32, thread: u32) -> i64 {
    // SAFETY: signal 0 is none.
    unsafe { system_call(libc::SYS_tgkill, [pid.into(), thread.into(), 0, 0, 0, 0]) }
}

/// `tkill` without a signal, which asks for a thread of any process: 0, or the negated error.
#[cold]
pub(crate) fn probe_any_thread(thread: u32) -> i64 {
    // SAFETY: signal 0 is none.
    unsafe { system_call(libc::SYS_tkill, [thread.into(), 0, 0, 0, 0, 0]) }
}

/// `getsockopt(SO_PEERCRED)`: who is at the other end of a socket; its pid is 0 when it is in no namespace of ours, which
/// the types of rustix cannot hold.
#[cold]
pub(crate) fn peer_of(socket: i32) -> Option<libc::ucred> {
    let mut peer = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET as u64, libc::SO_PEERCRED as u64);
    let arguments = [socket as u64, level, option, place(&raw mut peer), place(&raw mut length), 0];
    // SAFETY: the kernel writes into both, at most so many bytes as the second says, which is the size of the first.
    let result = unsafe { system_call(libc::SYS_getsockopt, arguments) };
    (result == 0).then_some(peer)
}

/// The limits of this process' address space, in bytes; `None` where a filter refuses the question, which rustix takes for impossible.
pub(crate) fn limits_of_address_space() -> Option<[u64; 2]> {
    let mut limits = [0_u64; 2];
    let arguments = [0, libc::RLIMIT_AS as u64, 0, place(&raw mut limits), 0, 0];
    // SAFETY: the kernel writes two words, the limit and its maximum, into as many.
    let result = unsafe { system_call(libc::SYS_prlimit64, arguments) };
    (result == 0).then_some(limits)
}

/// `CLOCK_MONOTONIC_RAW`, seconds and nanoseconds, asked of the kernel.
#[cold]
pub(crate) fn monotonic_raw() -> [u64; 2] {
    let mut now = [0_u64; 2];
    // SAFETY: the kernel writes two words into as many.
    unsafe {
        system_call(
            libc::SYS_clock_gettime,
            [libc::CLOCK_MONOTONIC_RAW as u64, place(&raw mut now), 0, 0, 0, 0],
        )
    };
    now
}

/// What the kernel says of the stack that `sigaltstack` has set for this thread's signal handlers: `SS_ONSTACK` while the thread runs
/// on it, `SS_DISABLE` when there is none; `None` when it cannot be told.
#[cold]
pub(crate) fn signal_stack() -> Option<i32> {
    let mut stack = core::mem::MaybeUninit::<libc::stack_t>::zeroed();
    // SAFETY: asks only, into memory that is large enough; the kernel judges by the stack pointer of this call.
    let result = unsafe { system_call(libc::SYS_sigaltstack, [0, place(stack.as_mut_ptr()), 0, 0, 0, 0]) };
    // SAFETY: zeroed, which is valid, or filled in.
    (result == 0).then(|| unsafe { stack.assume_init() }.ss_flags)
}

/// Ends the process without another word.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: ends everything.
    unsafe { system_call(libc::SYS_exit_group, [code as u64, 0, 0, 0, 0, 0]) };
    trap()
}

/// A pointer as the kernel gets it.
fn place<T>(pointer: *const T) -> u64 {
    pointer.expose_provenance() as u64
}

#[cfg(test)]
mod tests {
    use super::is_readable;

    /// Check that memory is told from pages that nobody may read, from what is no address, and from no address at all.
    #[test]
    fn only_memory_is_readable() {
        let word = 1_u64;
        assert!(is_readable((&raw const word).addr() as u64));
        for address in [0, 8, 4096 - 8, 1 << 47, u64::MAX - 7] {
            assert!(!is_readable(address), "{address:#x}");
        }
    }
}
