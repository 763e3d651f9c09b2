//! 64-bit ARM.

use super::{Caller, compare, end_through};
use std::arch::global_asm;
use unwind::End;

unsafe extern "C" {
    fn unwind_test_alloca(callback: extern "C" fn(usize) -> usize, argument: usize) -> usize;
    fn unwind_test_alone(callback: extern "C" fn(usize) -> usize, argument: usize) -> usize;
    fn unwind_test_apart(callback: extern "C" fn(usize) -> usize, argument: usize) -> usize;
    fn unwind_test_signed(callback: extern "C" fn(usize) -> usize, argument: usize) -> usize;
    pub(super) fn unwind_test_root(callback: extern "C" fn(usize) -> usize, argument: usize) -> usize;
    pub(super) fn unwind_test_other_register(
        callback: extern "C" fn(usize) -> usize,
        argument: usize,
    ) -> usize;
    fn unwind_test_bare(callback: extern "C" fn(usize) -> usize, argument: usize) -> usize;
}

global_asm!(
    ".text",
    // CFA = x29 + 16, in a frame whose size is known only at run time.
    ".globl unwind_test_alloca",
    "unwind_test_alloca:",
    ".cfi_startproc",
    "stp x29, x30, [sp, #-16]!",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset x29, -16",
    ".cfi_offset x30, -8",
    "mov x29, sp",
    ".cfi_def_cfa_register x29",
    "and x9, x1, #0xff0",
    "sub sp, sp, x9",
    "mov x9, x0",
    "mov x0, x1",
    "blr x9",
    "mov sp, x29",
    ".cfi_def_cfa_register sp",
    "ldp x29, x30, [sp], #16",
    ".cfi_def_cfa_offset 0",
    "ret",
    ".cfi_endproc",
    // The return address is saved, and x29 is left alone.
    ".globl unwind_test_alone",
    "unwind_test_alone:",
    ".cfi_startproc",
    "str x30, [sp, #-32]!",
    ".cfi_def_cfa_offset 32",
    ".cfi_offset x30, -32",
    "mov x9, x0",
    "mov x0, x1",
    "blr x9",
    "ldr x30, [sp], #32",
    ".cfi_def_cfa_offset 0",
    "ret",
    ".cfi_endproc",
    // Both are saved, but not adjacent, and x29 holds a number.
    ".globl unwind_test_apart",
    "unwind_test_apart:",
    ".cfi_startproc",
    "sub sp, sp, #48",
    ".cfi_def_cfa_offset 48",
    "str x30, [sp, #8]",
    ".cfi_offset x30, -40",
    "str x29, [sp, #32]",
    ".cfi_offset x29, -16",
    "mov x29, #24",
    "mov x9, x0",
    "mov x0, x1",
    "blr x9",
    "ldr x29, [sp, #32]",
    "ldr x30, [sp, #8]",
    "add sp, sp, #48",
    ".cfi_def_cfa_offset 0",
    "ret",
    ".cfi_endproc",
    // The return address is signed, as with -mbranch-protection; the hints do nothing on older processors.
    ".globl unwind_test_signed",
    "unwind_test_signed:",
    ".cfi_startproc",
    "hint #25", // paciasp
    ".cfi_negate_ra_state",
    "stp x29, x30, [sp, #-32]!",
    ".cfi_def_cfa_offset 32",
    ".cfi_offset x29, -32",
    ".cfi_offset x30, -24",
    "mov x29, sp",
    "mov x9, x0",
    "mov x0, x1",
    "blr x9",
    "ldp x29, x30, [sp], #32",
    ".cfi_def_cfa_offset 0",
    "hint #29", // autiasp
    ".cfi_negate_ra_state",
    "ret",
    ".cfi_endproc",
    // No return address: the root of a stack, as thread entry points declare themselves.
    ".globl unwind_test_root",
    "unwind_test_root:",
    ".cfi_startproc",
    ".cfi_undefined x30",
    "stp x29, x30, [sp, #-16]!",
    ".cfi_def_cfa_offset 16",
    "mov x9, x0",
    "mov x0, x1",
    "blr x9",
    "ldp x29, x30, [sp], #16",
    ".cfi_def_cfa_offset 0",
    "ret",
    ".cfi_endproc",
    // CFA from a register that a walk does not carry.
    ".globl unwind_test_other_register",
    "unwind_test_other_register:",
    ".cfi_startproc",
    "stp x19, x30, [sp, #-16]!",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset x19, -16",
    ".cfi_offset x30, -8",
    "mov x19, sp",
    ".cfi_def_cfa_register x19",
    "mov x9, x0",
    "mov x0, x1",
    "blr x9",
    "ldp x19, x30, [sp], #16",
    ".cfi_def_cfa sp, 0",
    "ret",
    ".cfi_endproc",
    // No table, a frame pointer.
    ".globl unwind_test_bare",
    "unwind_test_bare:",
    "stp x29, x30, [sp, #-16]!",
    "mov x29, sp",
    "mov x9, x0",
    "mov x0, x1",
    "blr x9",
    "ldp x29, x30, [sp], #16",
    "ret",
);

/// Check that each kind of frame is left for the frame that glibc finds.
#[test]
fn odd_frames_agree_with_backtrace() {
    let callers: [(&str, Caller); 5] = [
        ("alloca", unwind_test_alloca),
        ("alone", unwind_test_alone),
        ("apart", unwind_test_apart),
        ("signed", unwind_test_signed),
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
    extern "C" fn signed(argument: usize) -> usize {
        // SAFETY: the function follows the C calling convention.
        unsafe { unwind_test_signed(apart, argument) }
    }
    extern "C" fn apart(argument: usize) -> usize {
        // SAFETY: the function follows the C calling convention.
        unsafe { unwind_test_apart(alloca, argument) }
    }
    extern "C" fn alloca(argument: usize) -> usize {
        // SAFETY: the function follows the C calling convention.
        unsafe { unwind_test_alloca(compare, argument) }
    }
    // SAFETY: the function follows the C calling convention.
    let depth = unsafe { unwind_test_alone(signed, 0x120) };
    assert!(depth > 0x120 + 8);
}

/// Check that a walk stops where there is no table: a frame pointer does not tell where the caller's frame begins.
#[test]
fn missing_tables_end_the_walk() {
    assert_eq!(end_through(unwind_test_bare), (End::NoUnwindInfo, true));
}
