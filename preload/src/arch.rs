//! What depends on the processor: x86-64 so far.

use crate::thread::ThreadState;
use core::arch::{asm, global_asm};
use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering, compiler_fence};

/// A thread's state that must be reachable without a call: one small plain block in initial-exec thread-local
/// storage. It has no destructor and is zero but for `epoch` and `countdown` in a new thread.
///
/// Cells and [`fence`] are enough: only the thread itself and its own signal handlers touch it.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct ThreadLocal {
    /// The process epoch that `state` belongs to; [`NO_EPOCH`] while there is none.
    pub(crate) epoch: Cell<u32>,
    /// Not 0 while a hook of this thread is at work: which one, see [`crate::guard`].
    pub(crate) busy: Cell<u32>,
    /// The thread's state, valid while `epoch` is the process'.
    pub(crate) state: Cell<*mut ThreadState>,
    /// Stack pointer of the hook that is inside the next allocator, 0 outside.
    pub(crate) inside: Cell<usize>,
    /// The kind of the next `malloc`, set by the hooks of `operator new` that go on to it.
    pub(crate) kind_hint: Cell<u8>,
    /// Not 0 in a child of `vfork`, which runs on the parent's memory.
    pub(crate) in_vfork: Cell<u8>,
    /// What the next hook is to do beside its own work, and at its end: see [`crate::guard::Attention`].
    pub(crate) attention: Cell<u8>,
    /// Nothing is recorded, and nobody is waited for: what the thread found out when it `heard`. See
    /// [`crate::process::is_at_rest`].
    pub(crate) at_rest: Cell<bool>,
    /// Allocations that were lost while `busy`, to be told with the next record.
    pub(crate) nested_allocations: Cell<u32>,
    /// Frees, likewise.
    pub(crate) nested_frees: Cell<u32>,
    /// Number of the fork that the thread is in; a child finds it in its copy.
    pub(crate) fork: Cell<u32>,
    /// Bytes until the next sample, see [`crate::sampler`].
    pub(crate) countdown: Cell<i64>,
    /// What [`crate::process::epoch`] was when the thread last found out what that means for it.
    pub(crate) heard: Cell<u32>,
    /// The last block that was recorded as announced, see [`hinted`].
    pub(crate) hinted_block: Cell<u32>,
    /// The size that was asked for by the `operator new` that announced `kind_hint`.
    pub(crate) size_hint: Cell<usize>,
}

/// The epoch of a thread without a state; no process has it.
pub(crate) const NO_EPOCH: u32 = u32::MAX;

const _: () = assert!(size_of::<ThreadLocal>() == 64);
const _: () = assert!(core::mem::offset_of!(ThreadLocal, epoch) == 0);
const _: () = assert!(core::mem::offset_of!(ThreadLocal, busy) == 4);
const _: () = assert!(core::mem::offset_of!(ThreadLocal, countdown) == 40);

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

/// A block's address as [`ThreadLocal::hinted_block`] has it: what of it tells blocks apart that one call can mean.
pub(crate) fn hinted(block: usize) -> u32 {
    (block >> 3) as u32
}

/// The calling thread's block.
// Cost: two instructions, one load from the GOT; once in a function.
#[inline(always)]
pub(crate) fn thread_local() -> &'static ThreadLocal {
    let block: *const ThreadLocal;
    // SAFETY: the symbol is defined above; fs:0 holds the thread pointer on this ABI. Both words that this reads are written before
    // any code of ours runs in the thread and never again, so to the compiler they are no memory.
    unsafe {
        asm!(
            "mov {block}, qword ptr [rip + sysprof_memprof_tls@GOTTPOFF]",
            "add {block}, qword ptr fs:[0]",
            block = out(reg) block,
            options(pure, nomem, nostack),
        );
    }
    // SAFETY: the block is as large and aligned as the type, all bits are valid for it, and it lives as long as the
    // thread; the type is not Sync, so the reference stays in the thread.
    unsafe { &*block }
}

/// What `pthread_self` gives in musl: the address that the processor's register for thread-local storage holds, which lies there, too.
#[cold]
pub(crate) fn thread_pointer() -> *const core::ffi::c_void {
    let pointer;
    // SAFETY: fs:0 holds the thread pointer on this ABI.
    unsafe {
        asm!("mov {pointer}, qword ptr fs:[0]", pointer = out(reg) pointer, options(pure, readonly, nostack))
    };
    pointer
}

/// The address of a function that need not be there, null then. The loader fills it in before our constructor runs.
macro_rules! weak {
    ($name:literal) => {{
        let address: *const core::ffi::c_void;
        // SAFETY: loads a word of our own offset table.
        unsafe {
            core::arch::asm!(
                concat!(".weak ", $name),
                concat!("mov {address}, qword ptr [rip + ", $name, "@GOTPCREL]"),
                address = out(reg) address,
                options(pure, readonly, nostack),
            );
        }
        address
    }};
}
pub(crate) use weak;

/// Takes bytes off the thread's countdown; true while it is not below 0. One instruction does it, so a signal handler
/// that allocates comes before or after, never between.
// Cost: one subtraction and one branch.
#[inline(always)]
pub(crate) fn count_down(local: &'static ThreadLocal, bytes: i64) -> bool {
    // SAFETY: the countdown is the thread's own word, alive as long as the thread.
    unsafe {
        asm!(
            "sub qword ptr [{local} + {countdown}], {bytes}",
            "jns {passes}",
            local = in(reg) local,
            bytes = in(reg) bytes,
            countdown = const core::mem::offset_of!(ThreadLocal, countdown),
            passes = label { return true },
            options(nostack),
        );
    }
    false
}

/// Registers of the function this is inlined into: its own address, stack pointer and frame pointer.
#[inline(always)]
pub(crate) fn here() -> unwind::Registers {
    let (ip, sp, bp): (u64, u64, u64);
    // SAFETY: reads three registers.
    unsafe {
        asm!(
            "lea {ip}, [rip]", "mov {sp}, rsp", "mov {bp}, rbp",
            ip = out(reg) ip, sp = out(reg) sp, bp = out(reg) bp,
            options(nomem, nostack, preserves_flags),
        );
    }
    unwind::Registers { ip: unwind::CodeAddress::Exact(ip), sp, bp }
}

/// The stack pointer of the function this is inlined into.
#[inline(always)]
pub(crate) fn stack_pointer() -> usize {
    let sp: usize;
    // SAFETY: reads one register.
    unsafe { asm!("mov {sp}, rsp", sp = out(reg) sp, options(nomem, nostack, preserves_flags)) };
    sp
}

/// The time stamp counter. It may be read early, out of order.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    // SAFETY: the instruction has no preconditions in a process that may read the counter, which the collector
    // checked before it chose this clock.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The time stamp counter, read after everything before it.
#[inline(always)]
pub(crate) fn ticks_after() -> u64 {
    // SAFETY: no preconditions on x86-64.
    unsafe { core::arch::x86_64::_mm_lfence() };
    ticks()
}

/// Whether the word at `address` can be read, asked of the kernel, which does nothing else: `rt_sigprocmask` copies
/// the set first (EFAULT) and then finds that `how` is none (EINVAL). Any other answer says nothing: no set at all for
/// address 0, a sandbox's errors. Where asking is forbidden, nothing is.
#[cold]
pub(crate) fn is_readable(address: u64) -> bool {
    if !crate::sandbox::allows(crate::sandbox::Need::Probe) {
        return false;
    }
    let result: i64;
    // SAFETY: with an invalid `how` the system call changes nothing; an unreadable address is its error EFAULT.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") libc::SYS_rt_sigprocmask => result,
            in("rdi") -1i64, in("rsi") address, in("rdx") 0, in("r10") 8,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result == -i64::from(libc::EINVAL)
}

/// Replaces the signals that the calling thread blocks, one bit each, and returns those that it blocked before.
#[cold]
pub(crate) fn block_signals(blocked: u64) -> u64 {
    let mut before = 0_u64;
    // SAFETY: the system call reads one word and writes one, both ours, of the size that it is told.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") libc::SYS_rt_sigprocmask => _,
            in("rdi") i64::from(libc::SIG_SETMASK), in("rsi") &raw const blocked, in("rdx") &raw mut before,
            in("r10") 8,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    before
}

/// `process_vm_readv` of one range: bytes copied, or the negated error.
#[cold]
pub(crate) fn copy_from_process(pid: u32, to: &libc::iovec, from: &libc::iovec) -> i64 {
    let result: i64;
    // SAFETY: the kernel checks both ranges, and writes only into `to`, whose owner lent it for that.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") libc::SYS_process_vm_readv => result,
            in("rdi") u64::from(pid), in("rsi") to, in("rdx") 1, in("r10") from, in("r8") 1, in("r9") 0,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// `tgkill` without a signal: 0, or the negated error.
#[cold]
pub(crate) fn probe_thread(pid: u32, thread: u32) -> i64 {
    let result: i64;
    // SAFETY: signal 0 is none.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") libc::SYS_tgkill => result,
            in("rdi") u64::from(pid), in("rsi") u64::from(thread), in("rdx") 0,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// `tkill` without a signal, which asks for a thread of any process: 0, or the negated error.
#[cold]
pub(crate) fn probe_any_thread(thread: u32) -> i64 {
    let result: i64;
    // SAFETY: signal 0 is none.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") libc::SYS_tkill => result,
            in("rdi") u64::from(thread), in("rsi") 0,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Makes a thread that calls `membarrier` with a command, and ends; its id is in `thread` before this returns. The error, negated, where
/// none can be made.
///
/// It has nothing of its own, not even a stack, so all signals must be blocked: it inherits that.
#[cold]
pub(crate) fn membarrier_beside(command: i32, thread: &AtomicU32) -> i64 {
    const FLAGS: i32 = libc::CLONE_VM
        | libc::CLONE_FS
        | libc::CLONE_FILES
        | libc::CLONE_SIGHAND
        | libc::CLONE_SYSVSEM
        | libc::CLONE_THREAD
        | libc::CLONE_PARENT_SETTID;
    let result: i64;
    // SAFETY: the kernel writes the id into `thread`, which is atomic. The new thread shares all memory, and touches none: it makes two
    // system calls out of registers, and does not come back from the second.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "mov eax, {membarrier}",
            "mov edi, r8d",
            "xor esi, esi",
            "xor edx, edx",
            "syscall",
            "mov eax, {exit}",
            "xor edi, edi",
            "syscall",
            "ud2",
            "2:",
            membarrier = const libc::SYS_membarrier,
            exit = const libc::SYS_exit,
            inlateout("rax") libc::SYS_clone => result,
            in("rdi") i64::from(FLAGS), in("rsi") 0, in("rdx") thread.as_ptr(), in("r10") 0, in("r8") i64::from(command),
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result.min(0)
}

/// `getsockopt(SO_PEERCRED)`: who is at the other end of a socket; its pid is 0 when it is in no namespace of ours, which
/// the types of rustix cannot hold.
#[cold]
pub(crate) fn peer_of(socket: i32) -> Option<libc::ucred> {
    let mut peer = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    let result: i64;
    // SAFETY: the kernel writes into both, at most so many bytes as the second says, which is the size of the first.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") libc::SYS_getsockopt => result,
            in("rdi") i64::from(socket), in("rsi") i64::from(libc::SOL_SOCKET),
            in("rdx") i64::from(libc::SO_PEERCRED), in("r10") &raw mut peer, in("r8") &raw mut length,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    (result == 0).then_some(peer)
}

/// Calls `function` with so many bytes of the stack, and `context`. Nothing is left of them afterwards.
///
/// # Safety
/// The stack has room for so many bytes, and `function` may be called with these arguments.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn with_stack(
    bytes: usize,
    function: unsafe extern "C" fn(*mut u8, *mut core::ffi::c_void),
    context: *mut core::ffi::c_void,
) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, rdi",
        "and rsp, -16",
        "mov rdi, rsp",
        "mov rax, rsi",
        "mov rsi, rdx",
        "call rax",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

/// What the kernel says of the stack that `sigaltstack` has set for this thread's signal handlers: `SS_ONSTACK` while the thread runs
/// on it, `SS_DISABLE` when there is none; `None` when it cannot be told.
#[cold]
pub(crate) fn signal_stack() -> Option<i32> {
    let mut stack = core::mem::MaybeUninit::<libc::stack_t>::zeroed();
    let result: i64;
    // SAFETY: asks only, into memory that is large enough; the kernel judges by the stack pointer of this call.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") libc::SYS_sigaltstack => result,
            in("rdi") 0, in("rsi") stack.as_mut_ptr(),
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    // SAFETY: zeroed, which is valid, or filled in.
    (result == 0).then(|| unsafe { stack.assume_init() }.ss_flags)
}

/// Ends the process without another word.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: never returns.
    unsafe {
        asm!("syscall", in("rax") libc::SYS_exit_group, in("rdi") i64::from(code), options(noreturn, nostack))
    }
}

/// Keeps the compiler from moving memory accesses across; between a thread and its own signal handlers nothing more
/// is needed.
#[inline(always)]
pub(crate) fn fence() {
    compiler_fence(Ordering::SeqCst);
}

/// Ends the process at once.
#[cfg(any(feature = "standalone", feature = "verify"))]
pub(crate) fn trap() -> ! {
    // SAFETY: never returns.
    unsafe { asm!("ud2", options(noreturn)) }
}

// The compiled core library names it, though nothing here unwinds.
#[cfg(feature = "standalone")]
global_asm!(".globl rust_eh_personality", ".hidden rust_eh_personality", "rust_eh_personality:", "ud2");

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
