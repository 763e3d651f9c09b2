//! Keeps the recording's variables in the environment that an `exec` or `posix_spawn` gives to the next program.
//!
//! Programs that build an environment of their own would lose them, and with them their children. Only what is
//! missing is added; nothing the program set is changed but `LD_PRELOAD`, which gets the agent in front.

use crate::config;
use crate::process;
use core::ffi::{CStr, c_char, c_void};

/// Longest environment that is extended; a longer one is passed on as it is.
const MAX_VARIABLES: usize = 1024;
const MAX_VALUE: usize = 4096;
const PRELOAD: &[u8] = b"LD_PRELOAD";

/// The environment that is passed on, on the caller's stack: an exec may be the last thing this memory sees, and in
/// a child of vfork anything mapped would be left behind in the parent.
pub(crate) struct Environment {
    variables: [*const c_char; MAX_VARIABLES],
    preload: [u8; MAX_VALUE],
    socket: [u8; 256],
}

impl Environment {
    pub(crate) const fn new() -> Self {
        Self { variables: [core::ptr::null(); MAX_VARIABLES], preload: [0; MAX_VALUE], socket: [0; 256] }
    }

    /// `given`, or a copy of it with our variables when they are missing.
    pub(crate) fn complete(&mut self, given: *const *const c_char) -> *const *const c_char {
        let Some(()) = self.extend(given) else { return given };
        self.variables.as_ptr()
    }

    fn extend(&mut self, given: *const *const c_char) -> Option<()> {
        if !follows() || given.is_null() {
            return None;
        }
        let agent = agent_path()?;
        let ours = config::socket();
        let preload = config::value_in(given, PRELOAD);
        let has_agent =
            preload.is_some_and(|list| list.split(|byte| matches!(byte, b':' | b' ')).any(|x| x == agent));
        // A process that was called by the doorbell has no socket to name.
        let has_socket = ours.is_empty() || config::value_in(given, config::SOCKET).is_some();
        if has_agent && has_socket {
            return None;
        }
        let mut count = 0;
        for index in 0.. {
            // SAFETY: the list is terminated by a null pointer, before which we are.
            let entry = unsafe { given.wrapping_add(index).read() };
            if entry.is_null() {
                break;
            }
            // SAFETY: entries of an environment are strings.
            let text = unsafe { CStr::from_ptr(entry) }.to_bytes();
            if !has_agent && text.strip_prefix(PRELOAD).is_some_and(|rest| rest.first() == Some(&b'=')) {
                continue;
            }
            // Three more must fit: ours, and the end.
            *self.variables.get_mut(..MAX_VARIABLES - 3)?.get_mut(count)? = entry;
            count += 1;
        }
        if !has_agent {
            let rest = preload.unwrap_or(b"");
            let colon: &[u8] = if rest.is_empty() { b"" } else { b":" };
            join(&mut self.preload, &[PRELOAD, b"=", agent, colon, rest])?;
            *self.variables.get_mut(count)? = self.preload.as_ptr().cast();
            count += 1;
        }
        if !has_socket {
            join(&mut self.socket, &[config::SOCKET, b"=", ours])?;
            *self.variables.get_mut(count)? = self.socket.as_ptr().cast();
            count += 1;
        }
        *self.variables.get_mut(count)? = core::ptr::null();
        Some(())
    }
}

fn follows() -> bool {
    process::is_aside() || process::is_recorded() && process::is_followed()
}

/// Writes the parts one after the other, and a zero; `None` when they do not fit.
fn join(buffer: &mut [u8], parts: &[&[u8]]) -> Option<()> {
    let mut places = buffer.iter_mut();
    for byte in parts.iter().copied().flatten() {
        *places.next()? = *byte;
    }
    *places.next()? = 0;
    Some(())
}

/// The path under which the loader knows this library.
fn agent_path() -> Option<&'static [u8]> {
    let mut info = core::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address may be asked for, and `info` is large enough.
    let found = unsafe { libc::dladdr(agent_path as *const () as *const c_void, info.as_mut_ptr()) };
    // SAFETY: zeroed, which is valid, or filled in.
    let name = unsafe { info.assume_init() }.dli_fname;
    if found == 0 || name.is_null() {
        return None;
    }
    // SAFETY: the loader's string for a library that is never unloaded.
    Some(unsafe { CStr::from_ptr(name) }.to_bytes()).filter(|path| path.contains(&b'/'))
}
