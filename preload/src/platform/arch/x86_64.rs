//! x86-64, System V.

use super::BESIDE;
use crate::platform::thread_local::ThreadLocal;
use core::arch::asm;
use core::sync::atomic::AtomicU32;

/// Bits of the addresses that programs get unless they ask for others.
pub(crate) const ADDRESS_BITS: u32 = 47;

/// The address of the calling thread's block.
// Cost: two instructions, one of them a load from the GOT; once per function.
#[inline(always)]
pub(super) fn thread_block() -> *const ThreadLocal {
    let block: *const ThreadLocal;
    // SAFETY: the symbol is defined in `arch`; fs:0 holds the thread pointer in this ABI. Both words that this reads
    // are written before any code of ours runs in the thread and never again, so `nomem` is right.
    unsafe {
        asm!(
            "mov {block}, qword ptr [rip + sysprof_memprof_tls@GOTTPOFF]",
            "add {block}, qword ptr fs:[0]",
            block = out(reg) block,
            options(pure, nomem, nostack),
        );
    }
    block
}

/// What `pthread_self` returns with musl: the thread pointer, which is also stored where it points.
#[cold]
pub(crate) fn thread_pointer() -> *const core::ffi::c_void {
    let pointer;
    // SAFETY: fs:0 holds the thread pointer in this ABI.
    unsafe {
        asm!("mov {pointer}, qword ptr fs:[0]", pointer = out(reg) pointer, options(pure, readonly, nostack))
    };
    pointer
}

/// The address of a function that may be missing; null then. The loader fills it in before our constructor runs.
macro_rules! weak {
    ($name:literal) => {{
        let address: *const core::ffi::c_void;
        // SAFETY: loads a word of our own global offset table.
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

/// Subtracts bytes from the thread's countdown; true while it is not negative. It is a single instruction, so a
/// signal handler that allocates runs before or after it, never in between.
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
pub(crate) fn ordered_ticks() -> u64 {
    // SAFETY: no preconditions on x86-64.
    unsafe { core::arch::x86_64::_mm_lfence() };
    ticks()
}

/// A system call. Returns the kernel's answer, errors negated; nobody's `errno` changes.
///
/// # Safety
/// As for the call itself, whose pointers are among the arguments.
#[cold]
pub(crate) unsafe fn system_call(number: i64, arguments: [u64; 6]) -> i64 {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    let result: i64;
    // SAFETY: the caller vouches for what the call does; the kernel changes no other registers.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") first, in("rsi") second, in("rdx") third, in("r10") fourth, in("r8") fifth, in("r9") sixth,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Creates a thread that calls `membarrier` with `command` and ends; its id is in `thread` before this returns.
/// Returns the error, negated, if no thread can be created.
///
/// The thread has nothing of its own, not even a stack, so all signals must be blocked, which it inherits.
#[cold]
pub(crate) fn membarrier_beside(command: i32, thread: &AtomicU32) -> i64 {
    let result: i64;
    // SAFETY: the kernel writes the id into `thread`, which is atomic. The new thread shares all memory but accesses
    // none: it makes two system calls from registers, and does not return from the second.
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
            in("rdi") i64::from(BESIDE), in("rsi") 0, in("rdx") thread.as_ptr(), in("r10") 0, in("r8") i64::from(command),
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result.min(0)
}

/// Calls `function` with so many bytes on the stack, and `context`. The bytes are released afterwards.
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

/// Ends the process at once.
pub(crate) fn trap() -> ! {
    // SAFETY: never returns.
    unsafe { asm!("ud2", options(noreturn)) }
}

// The compiled core library refers to it, though nothing here unwinds.
#[cfg(feature = "standalone")]
core::arch::global_asm!(
    ".globl rust_eh_personality",
    ".hidden rust_eh_personality",
    "rust_eh_personality:",
    "ud2"
);

/// Makes a function what the linker takes for a declared name, in this library only.
macro_rules! upcall {
    ($name:literal => $function:path) => {
        core::arch::global_asm!(
            concat!(".globl ", $name),
            concat!(".hidden ", $name),
            concat!(".type ", $name, ", @function"),
            concat!($name, ":"),
            // A sample or a signal may interrupt a thread here.
            ".cfi_startproc",
            "jmp {function}",
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
            function = sym $function,
        );
    };
}
pub(crate) use upcall;
