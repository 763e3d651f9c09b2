//! What the environment tells the agent.
//!
//! | variable | meaning |
//! |---|---|
//! | `SYSPROF_MEMPROF_SOCKET` | socket of the collector: a path, or `@name` in the abstract namespace; without it the agent stays dormant |
//! | `SYSPROF_MEMPROF_KEY` | what it shows there, see [`shared_ring::key`] |
//! | `SYSPROF_MEMPROF_DISABLE` | not empty and not `0`: stay dormant, and deaf to the doorbell |
//! | `SYSPROF_MEMPROF_INSIDE` | `0`: leave an allocator inside the program as it is, see [`crate::redirect::linked`] |
//! | `SYSPROF_MEMPROF_DIR` | where the doorbell is, instead of the run folders, see [`crate::session::doorbell`] |
//! | `SYSPROF_MEMPROF_SEED` | a number that makes the choice of samples repeatable, for tests |
//!
//! Everything else comes from the collector, so that one recording has one policy. The environment is read from the
//! process' own block instead of through `getenv`, since shells define their own.

use crate::platform::arch;
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char};
use shared_ring::key::Key;

/// The variable that names the collector's socket.
pub(crate) const SOCKET: &[u8] = b"SYSPROF_MEMPROF_SOCKET";
/// The variable that has the recording's key.
pub(crate) const KEY: &[u8] = Key::VARIABLE.as_bytes();
const DISABLE: &[u8] = b"SYSPROF_MEMPROF_DISABLE";
const INSIDE: &[u8] = b"SYSPROF_MEMPROF_INSIDE";
const SEED: &[u8] = b"SYSPROF_MEMPROF_SEED";

/// Longest name of a socket, as `sockaddr_un` has it.
pub(crate) const LONGEST: usize = 108;

/// The socket's name and the key's text, kept for the programs that this one executes: a program may clear or
/// overwrite its own environment before it does.
struct SocketAndKey(UnsafeCell<Texts>);

struct Texts {
    socket: [u8; LONGEST],
    /// With a zero behind it.
    key: [u8; Key::DIGITS + 1],
}

// SAFETY: written once, by the only thread that starts the session, before anybody reads.
unsafe impl Sync for SocketAndKey {}

static SOCKET_AND_KEY: SocketAndKey =
    SocketAndKey(UnsafeCell::new(Texts { socket: [0; LONGEST], key: [0; Key::DIGITS + 1] }));

/// True when this process is never to be recorded.
pub(crate) fn is_disabled() -> bool {
    variable(DISABLE).is_some_and(|value| !value.is_empty() && value != b"0")
}

/// True when the program's code is to stay as it is.
pub(crate) fn keeps_code() -> bool {
    variable(INSIDE) == Some(b"0")
}

/// Reads the environment. Returns where the collector listens; `None` when no socket is named. Called once.
pub(crate) fn read() -> Option<&'static [u8]> {
    let value = variable(SOCKET).filter(|value| !value.is_empty() && value.len() < LONGEST)?;
    let key = variable(KEY).filter(|key| Key::from_text(key).is_some()).unwrap_or_default();
    let mut texts = Texts { socket: [0; LONGEST], key: [0; Key::DIGITS + 1] };
    for (to, from) in texts.socket.iter_mut().zip(value).chain(texts.key.iter_mut().zip(key)) {
        *to = *from;
    }
    // SAFETY: only the thread that starts the session is here, and it has published nothing yet.
    unsafe { SOCKET_AND_KEY.0.get().write(texts) };
    Some(socket())
}

fn socket_and_key() -> &'static Texts {
    // SAFETY: nobody writes it after `read`, which came first.
    unsafe { &*SOCKET_AND_KEY.0.get() }
}

/// The socket's name that [`read`] found; empty when there was none.
pub(crate) fn socket() -> &'static [u8] {
    socket_and_key().socket.split(|byte| *byte == 0).next().unwrap_or(&[])
}

/// The text of the recording's key, read with the socket; empty when there was none.
pub(crate) fn key_text() -> &'static [u8] {
    socket_and_key().key.split(|byte| *byte == 0).next().unwrap_or(&[])
}

/// The key to show to a collector: [`Key::NONE`] when we were given none.
pub(crate) fn key() -> Key {
    Key::from_text(key_text()).unwrap_or_default()
}

/// The seed for the choice of samples, so that the same run chooses the same ones; `None` for a new one each time.
pub(crate) fn seed() -> Option<u64> {
    core::str::from_utf8(variable(SEED)?).ok()?.parse().ok()
}

/// The value of a variable of the process' environment.
pub(crate) fn variable(name: &[u8]) -> Option<&'static [u8]> {
    value_in(environment(), name)
}

/// The process' environment: libc's, or what the kernel has passed as long as libc does not know it. So early runs the
/// `.preinit_array` of a program, before the constructors of all libraries.
fn environment() -> *const *const c_char {
    // SAFETY: `environ` is null, or points to the environment for the life of the process.
    let known = unsafe { libc_environ() };
    let place: *const *const usize = arch::weak!("__libc_stack_end").cast();
    // SAFETY: null, or a variable of glibc's dynamic loader, which nobody changes any more.
    let Some(count) = unsafe { place.as_ref() }.filter(|count| known.is_null() && !count.is_null()) else {
        return known;
    };
    // SAFETY: the kernel has placed the number of arguments there, then these with a null pointer behind them, then the
    // environment.
    count.wrapping_add(unsafe { count.read() }).wrapping_add(2).cast()
}

/// True when the environment can be read.
pub(crate) fn has_environment() -> bool {
    !environment().is_null()
}

/// The value of a variable in an environment list as `execve` takes it.
pub(crate) fn value_in(environment: *const *const c_char, name: &[u8]) -> Option<&'static [u8]> {
    if environment.is_null() {
        return None;
    }
    for index in 0.. {
        // SAFETY: the list ends with a null pointer, which has not been passed yet.
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

/// The environment; null before libc has set it up.
///
/// # Safety
/// Nobody changes the environment meanwhile.
pub(crate) unsafe fn libc_environ() -> *const *const c_char {
    // SAFETY: a plain load of libc's pointer, which the caller says nobody changes meanwhile.
    unsafe { ENVIRON }
}

/// Replaces the environment.
///
/// # Safety
/// Nobody else reads or changes the environment meanwhile, and the list lives as long as it is the environment.
pub(crate) unsafe fn set_libc_environ(list: *const *const c_char) {
    // SAFETY: a plain store to libc's pointer, which the caller says nobody else uses meanwhile.
    unsafe { ENVIRON = list }
}
