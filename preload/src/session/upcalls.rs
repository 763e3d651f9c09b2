//! Functions of higher floors that are called from here: what the first call of a process has to do before it is
//! recorded, and what libc calls at the ends of threads and of the process. The linker binds them: so the imports of
//! modules lead down only, and this is the whole list of exceptions.

use core::ffi::{c_int, c_void};

unsafe extern "C" {
    /// Redirects the allocator inside the program to the hooks: see [`crate::redirect::linked`].
    #[link_name = "sysprof_memprof_upcall_lead"]
    pub(super) safe fn lead();
    /// A destructor of a thread runs: see [`crate::record::lifecycle`].
    #[link_name = "sysprof_memprof_upcall_thread_ends"]
    pub(super) safe fn thread_ends(round: *mut c_void);
    /// The process exits: see [`crate::record::lifecycle`].
    #[link_name = "sysprof_memprof_upcall_exits"]
    pub(super) safe fn exits(code: c_int, argument: *mut c_void);
}
