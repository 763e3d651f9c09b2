//! Code that is read because it has no tables.

use core::ffi::CStr;

/// The code of a C library that is built without unwind tables, as musl is.
///
/// Its frames are left by what its instructions do until the function returns. That works for compiled code, whose
/// functions leave the stack as they found it. So it is used only for one module that is known to contain such code,
/// not for anything that lacks a table.
#[derive(Clone, Copy, Debug)]
pub struct CodeWithoutTables<'a> {
    /// The bytes of the code.
    pub code: &'a [u8],
    /// Where the code is mapped.
    pub address: u64,
    /// Addresses of the functions in [`CodeWithoutTables::NEVER_RETURN`]; 0 for those that are unknown.
    pub never_return: [u64; CodeWithoutTables::NEVER_RETURN.len()],
}

impl CodeWithoutTables<'_> {
    /// Functions of a C library that never return. The first two end a process and a thread with the result of its
    /// first function.
    pub const NEVER_RETURN: [&'static CStr; 11] = [
        c"exit",
        c"pthread_exit",
        c"_exit",
        c"_Exit",
        c"abort",
        c"quick_exit",
        c"longjmp",
        c"__stack_chk_fail",
        c"__assert_fail",
        c"verr",
        c"verrx",
    ];

    /// Whether one of them begins at this address.
    pub(crate) fn is_end(&self, address: u64) -> bool {
        self.never_return.contains(&address)
    }

    /// Whether the function at this address ends a process or a thread with the result of its first function.
    pub(crate) fn takes_result(&self, address: u64) -> bool {
        let [exit, thread_exit, ..] = self.never_return;
        address == exit || address == thread_exit
    }
}
