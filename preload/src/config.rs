//! What the environment asks of the agent.
//!
//! | variable | meaning |
//! |---|---|
//! | `SYSPROF_MEMPROF_SOCKET` | socket of the collector: a path, or `@name` in the abstract namespace; without it the agent stays dormant |
//! | `SYSPROF_MEMPROF_DISABLE` | not empty and not `0`: stay dormant |
//!
//! The rest of the policy comes from the collector, so that one recording has one. The environment is read from the
//! process' own block and not through `getenv`: shells bring their own.

use core::ffi::{CStr, c_char};

/// The variable that names the collector's socket.
pub(crate) const SOCKET: &[u8] = b"SYSPROF_MEMPROF_SOCKET";
const DISABLE: &[u8] = b"SYSPROF_MEMPROF_DISABLE";

/// What was asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Config {
    /// Where the collector listens.
    pub(crate) socket: &'static [u8],
}

/// Reads the environment; `None` when the agent is to stay dormant.
pub(crate) fn read() -> Option<Config> {
    if variable(DISABLE).is_some_and(|value| !value.is_empty() && value != b"0") {
        return None;
    }
    let socket = variable(SOCKET).filter(|value| !value.is_empty())?;
    Some(Config { socket })
}

/// The value of a variable of the process' environment.
pub(crate) fn variable(name: &[u8]) -> Option<&'static [u8]> {
    // SAFETY: `environ` points to the environment for the life of the process; `lifecycle::is_ready` saw that it is
    // set.
    let environment = unsafe { libc_environ() };
    value_in(environment, name)
}

/// The value of a variable in a list as `execve` takes it.
pub(crate) fn value_in(environment: *const *const c_char, name: &[u8]) -> Option<&'static [u8]> {
    if environment.is_null() {
        return None;
    }
    for index in 0.. {
        // SAFETY: the list is terminated by a null pointer, before which we are.
        let entry = unsafe { environment.wrapping_add(index).read() };
        if entry.is_null() {
            return None;
        }
        // SAFETY: entries of an environment are strings.
        let entry = unsafe { CStr::from_ptr(entry) }.to_bytes();
        if let Some(value) = entry.strip_prefix(name).and_then(|rest| rest.strip_prefix(b"=")) {
            return Some(value);
        }
    }
    None
}

unsafe extern "C" {
    #[link_name = "environ"]
    static mut ENVIRON: *const *const c_char;
}

/// The environment, null before libc has set it up.
///
/// # Safety
/// Nobody changes the environment at this moment.
pub(crate) unsafe fn libc_environ() -> *const *const c_char {
    // SAFETY: a plain load of libc's pointer, which nobody changes at this moment, says the caller.
    unsafe { ENVIRON }
}
