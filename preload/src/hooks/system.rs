//! Functions that end an image, start one, or unload code.

use super::shims::{list_exec, vfork_call};
use crate::hooks::exec::{Ended, Strings, with_own_variables, with_variables};
use crate::hooks::program::Program;
use crate::modules;
use crate::next::real;
use crate::platform::allowed_calls::{self, Need};
use crate::platform::{arch, errno, invalidations};
use crate::record::lifecycle::{around_fork, exec_failed, execing, exiting};
use core::ffi::{c_char, c_int, c_void};

/// Wraps an exec: it is recorded before, since it ends the image, and so is its failure afterwards.
fn around_exec(program: Program, environment: Strings, exec: impl Fn(Strings) -> Option<c_int>) -> c_int {
    execing();
    let result = with_variables(program, environment, |environment| {
        let result = exec(environment).unwrap_or(-1);
        Ended { result, is_too_long: errno::get() == libc::E2BIG }
    });
    exec_failed();
    result
}

/// Wraps a spawn, which returns its error.
fn around_spawn(program: Program, environment: Strings, spawn: impl Fn(Strings) -> Option<c_int>) -> c_int {
    with_variables(program, environment, |environment| {
        let result = spawn(environment).unwrap_or(libc::ENOSYS);
        Ended { result, is_too_long: result == libc::E2BIG }
    })
}

fn current() -> Strings {
    // SAFETY: what every exec without an environment argument reads.
    unsafe { crate::platform::config::libc_environ() }
}

/// `int execve(const char *path, char *const arguments[], char *const environment[])`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn execve(
    path: *const c_char,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    // SAFETY: passed on unchanged, except for the environment, which is a list of the same kind.
    around_exec(Program::At(libc::AT_FDCWD, path), environment, |environment| unsafe {
        real::execve(path, arguments, environment)
    })
}

/// `int execv(const char *path, char *const arguments[])`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn execv(path: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: as for `execve`.
    around_exec(Program::At(libc::AT_FDCWD, path), current(), |environment| unsafe {
        real::execve(path, arguments, environment)
    })
}

/// `int execvp(const char *file, char *const arguments[])`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn execvp(file: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: as for `execve`.
    around_exec(Program::Named(file), current(), |environment| unsafe {
        real::execvpe(file, arguments, environment)
    })
}

/// `int execvpe(const char *file, char *const arguments[], char *const environment[])`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn execvpe(
    file: *const c_char,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    // SAFETY: as for `execve`.
    around_exec(Program::Named(file), environment, |environment| unsafe {
        real::execvpe(file, arguments, environment)
    })
}

/// `int fexecve(int descriptor, char *const arguments[], char *const environment[])`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn fexecve(
    descriptor: c_int,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    // SAFETY: as for `execve`.
    around_exec(Program::Open(descriptor), environment, |environment| unsafe {
        real::fexecve(descriptor, arguments, environment)
    })
}

/// `int execveat(int folder, const char *path, char *const arguments[], char *const environment[], int flags)`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn execveat(
    folder: c_int,
    path: *const c_char,
    arguments: Strings,
    environment: Strings,
    flags: c_int,
) -> c_int {
    // SAFETY: as for `execve`.
    around_exec(Program::At(folder, path), environment, |environment| unsafe {
        real::execveat(folder, path, arguments, environment, flags)
    })
}

/// `int posix_spawn(pid_t *pid, const char *path, …, char *const arguments[], char *const environment[])`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn posix_spawn(
    pid: *mut c_int,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    around_spawn(Program::At(libc::AT_FDCWD, path), environment, |environment| {
        // SAFETY: as for `execve`.
        unsafe { real::posix_spawn(pid, path, actions, attributes, arguments, environment) }
    })
}

/// `int posix_spawnp(pid_t *pid, const char *file, …, char *const arguments[], char *const environment[])`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn posix_spawnp(
    pid: *mut c_int,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    around_spawn(Program::Named(file), environment, |environment| {
        // SAFETY: as for `execve`.
        unsafe { real::posix_spawnp(pid, file, actions, attributes, arguments, environment) }
    })
}

/// `int system(const char *command)`: libc starts the shell by internal calls.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn system(command: *const c_char) -> c_int {
    // SAFETY: passed on unchanged.
    with_own_variables(|| unsafe { real::system(command) }).unwrap_or(-1)
}

/// `FILE *popen(const char *command, const char *type)`: likewise.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn popen(command: *const c_char, kind: *const c_char) -> *mut c_void {
    // SAFETY: passed on unchanged.
    with_own_variables(|| unsafe { real::popen(command, kind) }).unwrap_or(core::ptr::null_mut())
}

list_exec!(
    /// `int execl(const char *path, const char *argument, ...)`
    execl, execl_body
);
list_exec!(
    /// `int execlp(const char *file, const char *argument, ...)`
    execlp, execlp_body
);
list_exec!(
    /// `int execle(const char *path, const char *argument, ..., char *const environment[])`
    execle, execle_body
);

unsafe extern "C" fn execl_body(path: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: the caller's arguments, ended by a null pointer.
    unsafe { execv(path, arguments) }
}

unsafe extern "C" fn execlp_body(file: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: as for `execl`.
    unsafe { execvp(file, arguments) }
}

unsafe extern "C" fn execle_body(path: *const c_char, arguments: Strings) -> c_int {
    let count = crate::hooks::exec::entries(arguments).count();
    // SAFETY: the environment follows the null pointer that ends the arguments.
    let environment = unsafe { arguments.wrapping_add(count + 1).read() };
    // SAFETY: as for `execl`.
    unsafe { execve(path, arguments, environment.cast()) }
}

/// `void _exit(int code)`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn _exit(code: c_int) -> ! {
    exiting(Some(code));
    // SAFETY: does not return.
    let _ = unsafe { real::exit(code) };
    crate::platform::arch::exit(code)
}

/// `void _Exit(int code)`, another name of `_exit`.
#[allow(non_snake_case, reason = "its name in C")]
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn _Exit(code: c_int) -> ! {
    // SAFETY: as `_exit`.
    unsafe { _exit(code) }
}

/// `int dlclose(void *handle)`: caches are invalidated before and after.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn dlclose(handle: *mut c_void) -> c_int {
    invalidations::note_unloading();
    // SAFETY: passed on unchanged.
    let result = unsafe { real::dlclose(handle) }.unwrap_or(-1);
    modules::forget_unloaded();
    super::cxx::forget_unloaded();
    result
}

/// `pid_t fork(void)`
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn fork() -> c_int {
    // SAFETY: has no arguments.
    around_fork(|| unsafe { real::fork() })
}

/// `pid_t _Fork(void)`: signal handlers may call it, even one that has interrupted a hook.
#[allow(non_snake_case, reason = "its name in C")]
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn _Fork() -> c_int {
    // SAFETY: has no arguments.
    around_fork(|| unsafe { real::bare_fork() })
}

/// `int daemon(int stay, int keep)`: forks, and only the child returns.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn daemon(stay: c_int, keep: c_int) -> c_int {
    // SAFETY: passed on unchanged.
    around_fork(|| unsafe { real::daemon(stay, keep) })
}

vfork_call!(
    /// `pid_t vfork(void)`: returns twice, so it is the system call itself, as in libc. The child runs on our memory
    /// and our thread's block: until the parent continues, the thread has no state and records nothing. Signals stay
    /// blocked until then: a handler that left by `longjmp` would leave the thread without a state.
    vfork, hold_signals, release_signals, vfork_failed
);

/// Returned in place of a signal mask when signals are not blocked. No thread blocks every signal.
const NOT_HELD: u64 = u64::MAX;

/// Blocks all signals, if that is allowed; returns those that were blocked before.
extern "C" fn hold_signals() -> u64 {
    if allowed_calls::allows(Need::Map) { arch::block_signals(u64::MAX) } else { NOT_HELD }
}

/// Undoes it, in the parent and in the child, even if another thread has forbidden it meanwhile.
extern "C" fn release_signals(blocked: u64) {
    if blocked != NOT_HELD {
        arch::block_signals(blocked);
    }
}

extern "C" fn vfork_failed(error: c_int) -> c_int {
    errno::set(error);
    -1
}
