//! The function that loads libraries.

use crate::linkage;
use crate::real;
use core::ffi::{CStr, c_char, c_int, c_void};

/// `void *dlopen(const char *file, int flags)`: jumps on, since the loader asks who has called it, unless the library would bind past
/// everybody.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn dlopen() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "test esi, {deeply}",
        "jnz 3f",
        "4:",
        "mov rax, qword ptr [rip + {next}]",
        "test rax, rax",
        "jz 2f",
        "jmp rax",
        "2:",
        "push rdi", "push rsi",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 24",
        "call {find}",
        "add rsp, 8",
        "pop rsi", "pop rdi",
        ".cfi_adjust_cfa_offset -24",
        "jmp rax",
        "3:",
        "push rdi", "push rsi",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 24",
        "call {may_bind}",
        "add rsp, 8",
        "pop rsi", "pop rdi",
        ".cfi_adjust_cfa_offset -24",
        "test al, al",
        "jz 4b",
        "jmp {body}",
        ".cfi_endproc",
        deeply = const libc::RTLD_DEEPBIND,
        next = sym real::DLOPEN,
        find = sym real::dlopen_address,
        may_bind = sym may_bind,
        body = sym open_deeply,
    )
}

/// True when whoever calls makes no difference to where a library is found, and it is ours to lead it back: where we were loaded later,
/// modules that come after us are not recorded.
unsafe extern "C" fn may_bind(file: *const c_char) -> bool {
    if file.is_null() || real::is_aside() {
        return false;
    }
    // SAFETY: the caller of `dlopen` passes a string.
    let file = unsafe { CStr::from_ptr(file) }.to_bytes();
    file.contains(&b'/') && !file.contains(&b'$')
}

unsafe extern "C" fn open_deeply(file: *const c_char, flags: c_int) -> *mut c_void {
    // SAFETY: passed on as it came.
    let handle = unsafe { real::dlopen(file, flags) }.unwrap_or(core::ptr::null_mut());
    if !handle.is_null() {
        real::own_call(|| linkage::bind(handle));
    }
    handle
}
