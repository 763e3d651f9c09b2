//! 64-bit ARM, AAPCS64.

use super::BESIDE;
use crate::platform::thread_local::ThreadLocal;
use core::arch::asm;
use core::sync::atomic::AtomicU32;

/// Bits of the addresses that programs get unless they ask for others.
pub(crate) const ADDRESS_BITS: u32 = 48;

/// The address of the calling thread's block.
// Cost: four instructions, one of them a load from the GOT; once per function.
#[inline(always)]
pub(super) fn thread_block() -> *const ThreadLocal {
    let block: *const ThreadLocal;
    // SAFETY: the symbol is defined in `arch`; tpidr_el0 is the thread pointer in this ABI. The word that this reads
    // is written before any code of ours runs in the thread and never again, so `nomem` is right.
    unsafe {
        asm!(
            "mrs {thread}, tpidr_el0",
            "adrp {block}, :gottprel:sysprof_memprof_tls",
            "ldr {block}, [{block}, :gottprel_lo12:sysprof_memprof_tls]",
            "add {block}, {block}, {thread}",
            thread = out(reg) _,
            block = out(reg) block,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    block
}

/// What `pthread_self` returns with musl; null here, since it is not known for this processor.
#[cold]
pub(crate) fn thread_pointer() -> *const core::ffi::c_void {
    core::ptr::null()
}

/// The address of a function that may be missing; null then. The loader fills it in before our constructor runs.
macro_rules! weak {
    ($name:literal) => {{
        let address: *const core::ffi::c_void;
        // SAFETY: loads a word of our own global offset table.
        unsafe {
            core::arch::asm!(
                concat!(".weak ", $name),
                concat!("adrp {address}, :got:", $name),
                concat!("ldr {address}, [{address}, :got_lo12:", $name, "]"),
                address = out(reg) address,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        address
    }};
}
pub(crate) use weak;

/// Subtracts bytes from the thread's countdown; true while it is not negative. A signal handler that allocates runs
/// before or after this, never in between: what it subtracts between the load and the store clears the processor's
/// exclusive monitor, and the loop runs once more.
#[inline(always)]
pub(crate) fn count_down(local: &'static ThreadLocal, bytes: i64) -> bool {
    let left: i64;
    // SAFETY: the countdown is the thread's own word, alive as long as the thread.
    unsafe {
        asm!(
            "2:",
            "ldxr {left}, [{countdown}]",
            "sub {left}, {left}, {bytes}",
            "stxr {failed:w}, {left}, [{countdown}]",
            "cbnz {failed:w}, 2b",
            left = out(reg) left,
            failed = out(reg) _,
            countdown = in(reg) local.countdown.as_ptr(),
            bytes = in(reg) bytes,
            options(nostack, preserves_flags),
        );
    }
    left >= 0
}

/// The stack pointer of the function this is inlined into.
#[inline(always)]
pub(crate) fn stack_pointer() -> usize {
    let sp: usize;
    // SAFETY: reads one register.
    unsafe { asm!("mov {sp}, sp", sp = out(reg) sp, options(nomem, nostack, preserves_flags)) };
    sp
}

/// No clock: the counters of these processors tick too slowly to tell what came first. Collectors choose the kernel's
/// clock instead.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    0
}

/// See [`ticks`].
#[inline(always)]
pub(crate) fn ordered_ticks() -> u64 {
    0
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
            "svc #0",
            in("x8") number,
            inlateout("x0") first => result,
            in("x1") second, in("x2") third, in("x3") fourth, in("x4") fifth, in("x5") sixth,
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
            "svc #0",
            "cbnz x0, 2f",
            "mov x8, #{membarrier}",
            "mov w0, w5",
            "mov x1, #0",
            "mov x2, #0",
            "svc #0",
            "mov x8, #{exit}",
            "mov x0, #0",
            "svc #0",
            "udf #0",
            "2:",
            membarrier = const libc::SYS_membarrier,
            exit = const libc::SYS_exit,
            in("x8") libc::SYS_clone,
            inlateout("x0") i64::from(BESIDE) => result,
            in("x1") 0_u64, in("x2") thread.as_ptr(), in("x3") 0_u64, in("x4") 0_u64, in("x5") i64::from(command),
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
        "stp x29, x30, [sp, #-16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "mov x29, sp",
        ".cfi_def_cfa_register x29",
        "sub x9, sp, x0",
        "and sp, x9, #-16",
        "mov x9, x1",
        "mov x0, sp",
        "mov x1, x2",
        "blr x9",
        "mov sp, x29",
        ".cfi_def_cfa_register sp",
        "ldp x29, x30, [sp], #16",
        ".cfi_def_cfa_offset 0",
        "ret",
        ".cfi_endproc",
    )
}

/// Ends the process at once.
pub(crate) fn trap() -> ! {
    // SAFETY: never returns.
    unsafe { asm!("udf #0", options(noreturn)) }
}

// The compiled core library refers to it, though nothing here unwinds.
#[cfg(feature = "standalone")]
core::arch::global_asm!(
    ".globl rust_eh_personality",
    ".hidden rust_eh_personality",
    "rust_eh_personality:",
    "udf #0"
);

/// Makes a function what the linker takes for a declared name, in this library only.
macro_rules! upcall {
    ($name:literal => $function:path) => {
        core::arch::global_asm!(
            concat!(".globl ", $name),
            concat!(".hidden ", $name),
            concat!(".type ", $name, ", %function"),
            concat!($name, ":"),
            // A sample or a signal may interrupt a thread here.
            ".cfi_startproc",
            "b {function}",
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
            function = sym $function,
        );
    };
}
pub(crate) use upcall;
