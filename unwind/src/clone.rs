//! The return from `clone` and `clone3`, for which glibc leaves out the tables.
//!
//! Both threads execute the same instructions there, on different stacks: the old one has not pushed anything and
//! returns to its caller, the new one has nothing to return to. On its stack may be any word, or its first function.
//!
//! ```text
//!  mov $435,%eax │ syscall │ test %rax,%rax │ jl failed │ je new │ ret
//! ```
//!
//! Only samples meet such a frame, mostly at the instruction behind the system call: that of the old thread has the
//! work of the kernel above it, which makes most of what a new thread costs. An interrupt may come at each of the five.

use crate::address::CodeAddress;
use crate::cfi::Scratch;
use crate::end::End;
use crate::frame::Frame;
use crate::memory::Memory;
use crate::memory::word;
use crate::rule::{Kind, Rule};
use crate::sections::Modules;
use crate::{arch, cfi};

/// The rule for a frame without a table, if it is one of these.
pub(crate) fn rule(address: CodeAddress, modules: &impl Modules) -> Option<Rule> {
    let CodeAddress::Exact(ip) = address else { return None };
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    TO_RETURN
        .iter()
        .any(|distance| is_clone(ip.wrapping_add_signed(*distance), modules))
        .then_some(Rule::SLOW)
}

/// How far it is from each instruction without a table to the one behind the system call.
const TO_RETURN: [i64; 5] = [2, 0, -3, -5, -7];

/// Whether a system call that makes a thread returns to this address.
fn is_clone(returns: u64, modules: &impl Modules) -> bool {
    let before = || modules.code(returns.checked_sub(16)?);
    let is_call = |before: [u8; 16]| {
        [&b"\xb8\x38\0\0\0\x0f\x05"[..], b"\xb8\xb3\x01\0\0\x0f\x05"]
            .iter()
            .any(|number_and_call| before.ends_with(number_and_call))
    };
    matches!(modules.code(returns), Some([0x48, 0x85, 0xc0, 0x7c, _, 0x74, 1, 0xc3, ..]))
        && before().is_some_and(is_call)
}

/// Leaves such a frame.
///
/// # Errors
///
/// [`End::Root`] for a new thread.
pub(crate) fn step(
    frame: &Frame,
    memory: &mut impl Memory,
    modules: &impl Modules,
    scratch: &mut Scratch,
) -> Result<Frame, End> {
    let returns = word(memory, frame.sp())?;
    if !is_return(returns, modules, scratch) {
        return Err(End::Root);
    }
    Frame::caller(returns, frame.sp().wrapping_add(8), frame.bp())
}

/// Whether a call can have pushed this word, which otherwise is the beginning of a function. There the CFA is 8 above
/// the stack pointer, while behind a call both are multiples of 16.
fn is_return(word: u64, modules: &impl Modules, scratch: &mut Scratch) -> bool {
    const BEGINNING: Rule = Rule::new(Kind::Sp, 8, 0);
    let before = || modules.code(word.checked_sub(16)?);
    modules.is_code(CodeAddress::Return(word).lookup())
        && before().is_some_and(|before| arch::call_before(word, &before).is_some())
        && modules
            .find(word)
            .is_none_or(|sections| cfi::rule(sections, CodeAddress::Exact(word), scratch) != BEGINNING)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
