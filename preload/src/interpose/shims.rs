//! Functions in assembly, which are all that can hand the registers of their caller on: one file for each machine, with the same
//! macros.
//!
//! | macro | function |
//! |---|---|
//! | `hidden_shim` | hands its caller's stack pointer and frame pointer on, as the arguments of these numbers |
//! | `announcing` | announces a kind to the hook that is called next, and jumps on |
//! | `new_wrapper`, `delete_wrapper` | a form of `new` or `delete` that may bypass malloc, and its record |
//! | `thrown_hook` | is asked by C++ of exceptions that come to the former |
//! | `swapping` | jumps to a function that has its first two arguments the other way round |
//! | `list_exec` | makes one list of variable arguments |
//! | `vfork_call` | the system call, which returns twice |
//! | `syscall_shim`, `dlopen_shim` | jump on, but for what has to be looked at |

/// An export that is nothing but this assembly.
macro_rules! naked_export {
    ($(#[$doc:meta])* $name:ident, $($assembly:tt)*) => {
        $(#[$doc])*
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            core::arch::naked_asm!($($assembly)*)
        }
    };
}
pub(crate) use naked_export;

#[cfg_attr(target_arch = "x86_64", path = "shims/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "shims/aarch64.rs")]
mod machine;

pub(crate) use machine::*;
