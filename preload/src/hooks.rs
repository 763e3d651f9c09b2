//! The functions that the agent interposes.
//!
//! | functions | file | recorded |
//! |---|---|---|
//! | `malloc calloc realloc reallocarray free posix_memalign aligned_alloc memalign valloc pvalloc cfree malloc_usable_size free_sized free_aligned_sized` | `heap` | all but the size query |
//! | all replaceable forms of `operator new` and `operator delete` | `cxx` | once: here, or by the `malloc` below |
//! | `mmap mmap64 munmap mremap brk sbrk` | `pages` | as a heap of its own |
//! | `mprotect` | `pages` | no: it shows which pages may still be read |
//! | `sysprof_memprof_*` | `entry/injected` | no: for a collector that has loaded this library later |
//! | `memprof_*` | `api` | what the program reports itself, see `preload/include/sysprof_memprof.h` |
//! | `getrlimit getrlimit64 setrlimit setrlimit64 prlimit prlimit64` | `limits` | no: what we reserve does not count |
//! | `prctl syscall` | `sandbox` | no: they show which system calls are about to be forbidden |
//! | `sigaltstack` | `signals` | no: it shows which stacks handlers may run on |
//! | `dlopen` | `loading` | no: libraries that bind past us are redirected |
//! | `fork _Fork daemon vfork exec* fexecve posix_spawn* system popen _exit _Exit dlclose` | `system` | beginnings and ends of images; caches |
//!
//! Functions of an allocator inside the program reach us by changed code, not by name: see `linked`.
//!
//! An export is guard → next function → tracker and nothing else. Functions that take a stack are entered through a
//! shim of two instructions, which passes the caller's stack pointer and rbp on as further arguments.

mod api;
mod cxx;
#[expect(unsafe_code, reason = "rebuilds the environment of exec")]
pub(crate) mod exec;
mod heap;
mod limits;
mod linked;
mod loading;
mod pages;
#[expect(unsafe_code, reason = "reads what an exec is given")]
mod program;
mod sandbox;
pub(crate) mod shims;
mod signals;
mod system;

/// An export whose body needs its caller's registers: the stack pointer and the frame pointer become its arguments
/// with these indices, from 0.
macro_rules! shim {
    ($(#[$doc:meta])* $name:ident, $sp:tt, $bp:tt, $body:path) => {
        $crate::hooks::shims::hidden_shim!(
            $(#[$doc])*
            #[cfg_attr(not(test), unsafe(no_mangle))]
            $name, $sp, $bp, $body
        );
    };
}
pub(crate) use shim;

use crate::redirect::linked::Hooks;
#[cfg(not(test))]
pub(crate) use cxx::find_all as find_cxx;

/// Notes that a function of an allocator now leads to us, and where what it was begins.
#[cold]
fn note_moved(function: *mut core::ffi::c_void, beginning: *mut core::ffi::c_void) {
    crate::next::real::note_moved(function, beginning);
    cxx::note_moved(function, beginning);
}

crate::platform::arch::upcall!("sysprof_memprof_upcall_lead" => lead);

/// Redirects the allocator inside the program to the hooks.
extern "C" fn lead() {
    crate::redirect::linked::lead(Hooks {
        exported: linked::linked_functions,
        others: linked::linked_others,
        in_libraries: linked::linked_in_libraries,
        note_moved,
    });
}

/// Exports that stand for functions with other names.
const OTHER_NAMES: [&core::ffi::CStr; 8] =
    [c"mmap64", c"cfree", c"vfork", c"execv", c"execvp", c"_Exit", c"free_sized", c"free_aligned_sized"];

/// True for the name of an export whose calls matter wherever they come from.
#[cold]
pub(crate) fn has(name: &core::ffi::CStr) -> bool {
    crate::next::real::is_known(name) || cxx::is_form(name) || OTHER_NAMES.contains(&name)
}
