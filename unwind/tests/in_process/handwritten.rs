//! Handwritten frames whose tables compilers rarely create: one file for each processor.
//!
//! Each function takes a callback and its argument, builds its odd frame and calls.

#[cfg_attr(target_arch = "aarch64", path = "handwritten/aarch64.rs")]
#[cfg_attr(target_arch = "x86_64", path = "handwritten/x86_64.rs")]
mod machine;

#[cfg(target_arch = "x86_64")]
pub(crate) use machine::{unwind_test_alloca, unwind_test_frame_pointer, unwind_test_realigned};

use crate::support::{Walker, this_stack_memory};
use machine::{unwind_test_other_register, unwind_test_root};
use std::cell::Cell;
use unwind::{CodeAddress, End, Registers};

/// A function in a processor's file: calls `callback(argument)`.
type Caller = unsafe extern "C" fn(callback: extern "C" fn(usize) -> usize, argument: usize) -> usize;

/// Compares with glibc.
extern "C" fn compare(argument: usize) -> usize {
    assert_walks_like_backtrace!() + argument
}

thread_local! {
    static WALKED: Cell<Option<(End, u64)>> = const { Cell::new(None) };
}

/// Walks, and keeps how the walk ended and its last frame.
extern "C" fn walk(argument: usize) -> usize {
    let mut last = 0;
    let end = Walker::new().walk(Registers::here(), &mut this_stack_memory(), 100, |code, _| {
        last = code.address();
    });
    WALKED.set(Some((end, last)));
    argument
}

/// How a walk through `caller` ends, and whether its last frame is `caller`.
fn end_through(caller: Caller) -> (End, bool) {
    // SAFETY: the function follows the C calling convention.
    unsafe { caller(walk, 0) };
    let (end, last) = WALKED.get().expect("the callback ran");
    (end, (caller as usize as u64..caller as usize as u64 + 64).contains(&last))
}

/// Check that an undefined return address is the end of a complete stack.
#[test]
fn undefined_return_addresses_are_the_root() {
    assert_eq!(end_through(unwind_test_root), (End::Root, true));
}

/// Check that a walk stops, and says why, where the table needs a register that a walk does not carry.
#[test]
fn unknown_registers_end_the_walk() {
    assert_eq!(end_through(unwind_test_other_register), (End::NoUnwindInfo, true));
}

/// Check that the innermost frame's address is kept as exact and all others as return addresses.
#[test]
fn only_the_innermost_address_is_exact() {
    let mut codes = Vec::new();
    Walker::new().walk(Registers::here(), &mut this_stack_memory(), 100, |code, _| codes.push(code));
    assert!(matches!(codes[0], CodeAddress::Exact(_)));
    assert!(codes[1..].iter().all(|code| matches!(code, CodeAddress::Return(_))));
}
