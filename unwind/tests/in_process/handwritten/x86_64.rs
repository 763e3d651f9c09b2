//! x86-64.

use super::{Caller, compare, end_through};
use std::arch::global_asm;
use unwind::End;

unsafe extern "C" {
    pub(crate) fn unwind_test_frame_pointer(
        callback: extern "C" fn(usize) -> usize,
        argument: usize,
    ) -> usize;
    pub(crate) fn unwind_test_alloca(callback: extern "C" fn(usize) -> usize, argument: usize) -> usize;
    pub(crate) fn unwind_test_realigned(callback: extern "C" fn(usize) -> usize, argument: usize) -> usize;
    fn unwind_test_plt(callback: extern "C" fn(usize) -> usize, argument: usize) -> usize;
    pub(super) fn unwind_test_root(callback: extern "C" fn(usize) -> usize, argument: usize) -> usize;
    pub(super) fn unwind_test_other_register(
        callback: extern "C" fn(usize) -> usize,
        argument: usize,
    ) -> usize;
    fn unwind_test_bare(callback: extern "C" fn(usize) -> usize, argument: usize) -> usize;
    fn unwind_test_bare_clobbered(callback: extern "C" fn(usize) -> usize, argument: usize) -> usize;
}

global_asm!(
    ".text",
    // CFA = rbp + 16.
    ".globl unwind_test_frame_pointer",
    "unwind_test_frame_pointer:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "sub rsp, 48",
    "mov rax, rdi",
    "mov rdi, rsi",
    "call rax",
    "leave",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    // The same with a frame whose size is known only at run time.
    ".globl unwind_test_alloca",
    "unwind_test_alloca:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "mov rcx, rsi",
    "and rcx, 0xff0",
    "sub rsp, rcx",
    "mov rax, rdi",
    "mov rdi, rsi",
    "call rax",
    "leave",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    // gcc's realigned stack: r10 keeps the CFA and is pushed; from there on CFA = *(rbp - 8).
    ".globl unwind_test_realigned",
    "unwind_test_realigned:",
    ".cfi_startproc",
    "lea r10, [rsp + 8]",
    ".cfi_def_cfa r10, 0",
    "and rsp, -64",
    "push qword ptr [r10 - 8]",
    "push rbp",
    "mov rbp, rsp",
    ".cfi_escape 0x10, 0x06, 0x02, 0x76, 0x00", // rbp is saved at rbp + 0
    "push r10",
    ".cfi_escape 0x0f, 0x03, 0x76, 0x78, 0x06", // CFA = *(rbp - 8)
    "sub rsp, 72",
    "mov rax, rdi",
    "mov rdi, rsi",
    "call rax",
    "mov r10, [rbp - 8]",
    ".cfi_def_cfa r10, 0",
    "leave",
    ".cfi_same_value rbp",
    "lea rsp, [r10 - 8]",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    // The expression that linkers create for .plt: one more word from the eleventh byte of each 16 on.
    ".balign 16",
    ".globl unwind_test_plt",
    "unwind_test_plt:",
    ".cfi_startproc",
    ".cfi_escape 0x0f, 0x0b, 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22",
    "mov rax, rdi",
    "mov rdi, rsi",
    "nop",
    "push 0",   // the ninth and tenth byte
    "call rax", // returns to the twelfth
    "pop rcx",
    "ret",
    ".cfi_endproc",
    // No return address: the root of a stack, as thread entry points declare themselves.
    ".globl unwind_test_root",
    "unwind_test_root:",
    ".cfi_startproc",
    ".cfi_undefined rip",
    "sub rsp, 8",
    ".cfi_def_cfa_offset 16",
    "mov rax, rdi",
    "mov rdi, rsi",
    "call rax",
    "add rsp, 8",
    ".cfi_def_cfa_offset 8",
    "ret",
    ".cfi_endproc",
    // CFA from a register that a walk does not carry.
    ".globl unwind_test_other_register",
    "unwind_test_other_register:",
    ".cfi_startproc",
    "push rbx",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbx, -16",
    "mov rbx, rsp",
    ".cfi_def_cfa_register rbx",
    "mov rax, rdi",
    "mov rdi, rsi",
    "call rax",
    "pop rbx",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    // No table, a frame pointer.
    ".globl unwind_test_bare",
    "unwind_test_bare:",
    "push rbp",
    "mov rbp, rsp",
    "sub rsp, 32",
    "mov rax, rdi",
    "mov rdi, rsi",
    "call rax",
    "leave",
    "ret",
    // No table, and rbp is used for something else.
    ".globl unwind_test_bare_clobbered",
    "unwind_test_bare_clobbered:",
    "push rbp",
    "mov ebp, 24",
    "mov rax, rdi",
    "mov rdi, rsi",
    "call rax",
    "pop rbp",
    "ret",
);

/// Check that each kind of frame is left for the frame that glibc finds.
#[test]
fn odd_frames_agree_with_backtrace() {
    let callers: [(&str, Caller); 5] = [
        ("frame pointer", unwind_test_frame_pointer),
        ("alloca", unwind_test_alloca),
        ("realigned", unwind_test_realigned),
        ("plt", unwind_test_plt),
        ("root", unwind_test_root),
    ];
    for (name, caller) in callers {
        // SAFETY: the function follows the C calling convention.
        let depth = unsafe { caller(compare, 0x230) };
        assert!(depth > 0x230, "{name}");
    }
}

/// Check that odd frames agree with glibc when they call each other.
#[test]
fn nested_odd_frames_agree_with_backtrace() {
    extern "C" fn realigned(argument: usize) -> usize {
        // SAFETY: the function follows the C calling convention.
        unsafe { unwind_test_realigned(plt, argument) }
    }
    extern "C" fn plt(argument: usize) -> usize {
        // SAFETY: the function follows the C calling convention.
        unsafe { unwind_test_plt(alloca, argument) }
    }
    extern "C" fn alloca(argument: usize) -> usize {
        // SAFETY: the function follows the C calling convention.
        unsafe { unwind_test_alloca(compare, argument) }
    }
    // SAFETY: the function follows the C calling convention.
    let depth = unsafe { unwind_test_frame_pointer(realigned, 0x120) };
    assert!(depth > 0x120 + 8);
}

/// Check that code without tables is crossed by its frame pointer, back into code with tables.
#[test]
fn frame_pointers_serve_where_tables_are_missing() {
    assert_eq!(end_through(unwind_test_bare), (End::Root, false));
}

/// Check that a register which is no frame pointer is not followed.
#[test]
fn implausible_frame_pointers_end_the_walk() {
    assert_eq!(end_through(unwind_test_bare_clobbered), (End::NoUnwindInfo, true));
}
