//! Functions in assembly, the only ones that can pass on their caller's registers: one file for each processor, with
//! the same macros.
//!
//! | macro | function |
//! |---|---|
//! | `hidden_shim` | passes on its caller's stack pointer and frame pointer, as the arguments with these indices |
//! | `wide_shim` | the same for functions with up to six arguments, as the seventh and eighth |
//! | `announcing` | announces a kind to the hook that is called next, and jumps on |
//! | `new_wrapper`, `delete_wrapper` | a form of `new` or `delete` that may bypass malloc, and its record |
//! | `thrown_hook` | the personality routine of the former, which the C++ unwinder calls |
//! | `swapping` | jumps to a function with the first two arguments swapped |
//! | `list_exec` | makes a list of variable arguments |
//! | `vfork_call` | the system call, which returns twice |
//! | `resolver_shim` | an indirect function |
//! | `syscall_shim`, `dlopen_shim` | jump on, except for calls that must be inspected |

/// An export that consists of this assembly only.
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
