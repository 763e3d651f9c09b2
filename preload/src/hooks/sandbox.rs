//! Functions by which a program forbids itself system calls or the time stamp counter.

use super::shims::syscall_shim;
use crate::next::real;
use crate::platform::allowed_calls::{self, Need};
use crate::platform::sys;
use crate::record::sandbox::{self, Rule};
use core::ffi::c_int;
use shared_ring::bpf::{Instruction, MAX_INSTRUCTIONS};

/// The filter program as `prctl` and `seccomp` take it (`struct sock_fprog`).
#[repr(C)]
struct Program {
    length: u16,
    instructions: *const Instruction,
}

const TSC_SIGSEGV: u32 = libc::PR_TSC_SIGSEGV.cast_unsigned();

/// The rule for a filter at this address.
///
/// # Safety
/// Nobody changes it meanwhile.
unsafe fn filter<'a>(address: usize) -> Rule<'a> {
    if !allowed_calls::allows(Need::Probe) {
        // Whether it can be read cannot be asked. An empty filter counts as forbidding everything.
        return Rule::Filter(&[]);
    }
    if !is_readable(address, size_of::<Program>()) {
        return Rule::Unreadable;
    }
    // SAFETY: its pages were just found readable, and every bit pattern is valid for it.
    let program = unsafe { core::ptr::with_exposed_provenance::<Program>(address).read_unaligned() };
    let length = usize::from(program.length);
    if length > MAX_INSTRUCTIONS
        || !program.instructions.is_aligned()
        || !is_readable(program.instructions.addr(), length.saturating_mul(size_of::<Instruction>()))
    {
        return Rule::Unreadable;
    }
    // SAFETY: so many instructions were just found readable and aligned, every bit pattern is valid for them, and the
    // caller says that nobody changes them.
    Rule::Filter(unsafe { core::slice::from_raw_parts(program.instructions, length) })
}

/// True when all pages of a range can be read.
fn is_readable(address: usize, bytes: usize) -> bool {
    let Some(end) = address.checked_add(bytes) else { return false };
    let pages = (address & !4095..end).step_by(4096);
    bytes > 0 && pages.into_iter().all(|page| sys::is_readable(page as u64))
}

/// `int prctl(int option, ...)`: the arguments are in the same registers however many were passed.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn prctl(
    option: c_int,
    second: usize,
    third: usize,
    fourth: usize,
    fifth: usize,
) -> c_int {
    let rule = match (option, u32::try_from(second)) {
        (libc::PR_SET_SECCOMP, Ok(libc::SECCOMP_MODE_STRICT)) => Some(Rule::Strict),
        // SAFETY: the caller's filter, which it passes to the kernel now.
        (libc::PR_SET_SECCOMP, Ok(libc::SECCOMP_MODE_FILTER)) => Some(unsafe { filter(third) }),
        (libc::PR_SET_TSC, Ok(TSC_SIGSEGV)) => Some(Rule::Counter),
        _ => None,
    };
    let prepared = rule.map(sandbox::prepare);
    // SAFETY: passed on unchanged.
    let result = unsafe { real::prctl(option, second, third, fourth, fifth) }.unwrap_or(-1);
    if result == 0 && option == libc::PR_SET_TSC && second == libc::PR_TSC_ENABLE as usize {
        sandbox::allow_counter();
    }
    if let Some(prepared) = prepared.filter(|_| result != 0) {
        prepared.undo();
    }
    result
}

syscall_shim!(
    /// `long syscall(long number, ...)`: jumps on, except for `seccomp`.
    syscall, libc::SYS_seccomp => seccomp, else real::SYSCALL, real::syscall_address
);

/// `syscall(SYS_seccomp, unsigned operation, unsigned flags, void *arguments)`
unsafe extern "C" fn seccomp(number: i64, operation: usize, flags: usize, arguments: usize) -> i64 {
    let rule = match u32::try_from(operation) {
        Ok(libc::SECCOMP_SET_MODE_STRICT) => Some(Rule::Strict),
        // SAFETY: the caller's filter, which it passes to the kernel now.
        Ok(libc::SECCOMP_SET_MODE_FILTER) => Some(unsafe { filter(arguments) }),
        _ => None,
    };
    let prepared = rule.map(sandbox::prepare);
    // SAFETY: passed on unchanged.
    let result = unsafe { real::syscall(number, operation, flags, arguments) }.unwrap_or(-1);
    // With the flag for a listener, success is a descriptor.
    if let Some(prepared) = prepared.filter(|_| result < 0) {
        prepared.undo();
    }
    result
}
