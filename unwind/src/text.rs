//! Code that is to be read, since it has no tables.

use core::ffi::CStr;

/// The code of a C library that is built without unwind tables, as musl is.
///
/// Its frames are left by what its instructions do until the function returns. That holds for what a compiler made, whose functions
/// leave the stack as they found it; so it is asked for one module that is known to be such code, and not for whatever lacks a table.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// Its bytes.
    pub code: &'a [u8],
    /// Where they are mapped.
    pub address: u64,
    /// Addresses of the functions of [`Text::NEVER_RETURN`], 0 for those that are not known.
    pub never_return: [u64; Text::NEVER_RETURN.len()],
}

impl Text<'_> {
    /// Functions of it that never return. The first two end a process and a thread with what its first function has returned.
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

    /// Whether one of them begins at an address.
    pub(crate) fn is_end(&self, address: u64) -> bool {
        self.never_return.contains(&address)
    }

    /// Whether the function at an address ends a process or a thread with what its first function has returned.
    pub(crate) fn takes_result(&self, address: u64) -> bool {
        let [exit, thread_exit, ..] = self.never_return;
        address == exit || address == thread_exit
    }
}
