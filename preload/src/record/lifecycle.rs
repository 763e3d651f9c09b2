//! Beginning and end of the process, its threads and the images that it executes.

use crate::modules::c_library;
use crate::next::real;
use crate::platform::arch;
use crate::platform::needs;
use crate::platform::own_call::own_call;
use crate::platform::thread_local::{Attention, ThreadLocal, Work};
use crate::process;
use crate::record::tracker;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use shared_ring::process_slot::ProcessSlot;
use shared_ring::record::Record;

/// Rounds of thread-specific destructors that the agent skips, so that those of others, which may free, run first.
/// libc makes four.
const ROUNDS: usize = 3;
/// Keys whose values each thread has room for; for a key beyond these libc allocates. Without a key, rings are
/// reclaimed when they are needed.
const KEYS: libc::pthread_key_t = 32;
/// How often a process that waits at its end checks that its collector is still there, in milliseconds.
const LOOK_MS: u64 = 100;
/// The longest such wait: a collector that slow has other problems.
const LONGEST_PARTING_NS: u64 = 60_000_000_000;
/// A thread that wants to end the process while another one does so gives that one this much time: it has nothing
/// left to do but flush.
const PRECEDENCE_NS: u64 = 1_000_000_000;
/// The thread that ends the process and waits for the collector. Copied by fork; in a child no thread has this
/// address.
static FIRST_TO_PART: AtomicPtr<ThreadLocal> = AtomicPtr::new(core::ptr::null_mut());
/// The thread key plus one, 0 while there is none.
static KEY: AtomicU32 = AtomicU32::new(0);
/// True once libc was asked for all of that. Copied by fork, as libc's lists are.
static IS_PREPARED: AtomicBool = AtomicBool::new(false);

/// Runs when the loader has set everything up, before `main`.
#[cfg(not(test))]
#[ctor::ctor(unsafe)]
fn constructor() {
    real::resolve();
    own_call(crate::platform::own_image::remember_path);
    crate::hooks::find_cxx();
    // A library that was loaded later comes before nothing: no call reaches it unless the collector that loaded it
    // sees to that.
    if !own_call(crate::entry::injected::stands_before_libc) {
        return process::begin_deaf();
    }
    crate::platform::sys::without_signals(|| {
        if process::join() {
            own_call(crate::modules::describe_loaded);
            crate::record::pause::tell();
        }
    });
}

/// True when the agent can work at all: with glibc and with musl.
pub(crate) fn is_supported() -> bool {
    c_library::is_known()
}

/// True when the environment can be read and the next allocator is known.
pub(crate) fn is_ready() -> bool {
    real::is_resolved() && crate::platform::config::has_environment()
}

/// True unless another copy of this library, from another path, comes before this one. That one gets all calls first,
/// and goes on to this one: it records, and this one stays at rest.
#[cold]
pub(crate) fn is_first_copy() -> bool {
    // SAFETY: the name is a string. Every copy has this function.
    let first = own_call(|| unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"sysprof_memprof_injected".as_ptr()) });
    base_of(first) == base_of(is_first_copy as *const () as *const c_void)
}

/// Registers for the ends of threads and of the process, and prepares what walks need: everything that cannot be done
/// within a hook. Called once, in a process that is or may be recorded; false when it fails.
#[cold]
pub(crate) fn prepare() -> bool {
    if IS_PREPARED.load(Ordering::Relaxed) {
        return true;
    }
    // Without it unwind tables cannot be found without the loader's lock.
    if !crate::modules::prepare(real::look_up) {
        return false;
    }
    crate::platform::sys::register_fences();
    let mut key = 0;
    // SAFETY: the destructor is a function of ours, and this library is never unloaded.
    if own_call(|| unsafe { libc::pthread_key_create(&raw mut key, Some(thread_ends)) }) == 0 {
        if key < KEYS {
            KEY.store(key + 1, Ordering::Relaxed);
        } else {
            // SAFETY: created just now, and no thread has a value for it.
            own_call(|| unsafe { libc::pthread_key_delete(key) });
        }
    }
    c_library::watch_exit(exits_with);
    IS_PREPARED.store(true, Ordering::Relaxed);
    true
}

/// Has [`thread_ends`] called at the thread's end.
#[cold]
pub(crate) fn watch_thread() {
    set_round(1);
}

fn set_round(round: usize) {
    if let Some(key) = KEY.load(Ordering::Relaxed).checked_sub(1) {
        // SAFETY: the key was made by us; the value is a number and never dereferenced.
        own_call(|| unsafe { libc::pthread_setspecific(key, core::ptr::without_provenance(round)) });
    }
}

extern "C" fn thread_ends(value: *mut c_void) {
    if value.addr() < ROUNDS {
        set_round(value.addr() + 1);
        return;
    }
    // From here on every event of the thread claims a ring, writes, and gives it back; this one too.
    Attention::Exiting.call(arch::thread_local());
    crate::thread::finish();
}

/// The process is about to exit, with a code if it is known. If the collector wants to look at the process' memory at
/// its end, this waits for that.
///
/// The collector watches the slot, so it also notices a process that cannot record its exit, as in a handler that has
/// interrupted a hook.
pub(crate) fn exiting(code: Option<c_int>) {
    let Some(slot) = process::slot_to_part_at() else { return tracker::exiting(code) };
    let local = core::ptr::from_ref(arch::thread_local()).cast_mut();
    let is_first = slot.begin_to_part();
    if is_first {
        // Relaxed: only the thread that stored it has to see it.
        FIRST_TO_PART.store(local, Ordering::Relaxed);
        tracker::exiting(code);
        process::ring();
    } else if FIRST_TO_PART.load(Ordering::Relaxed) == local {
        // A handler that has interrupted the wait wants the process to end now.
        return tracker::exiting(code);
    }
    wait_at(slot, LONGEST_PARTING_NS, || {
        slot.is_parting() && process::is_recording() && !process::is_forsaken()
    });
    if !is_first {
        // As without us: the first thread ends the process, with its own code.
        wait_at(slot, PRECEDENCE_NS, || true);
        tracker::exiting(code);
    }
}

extern "C" fn exits_with(code: c_int, _: *mut c_void) {
    exiting(Some(code));
}

/// The agent's destructor.
#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_END: extern "C" fn() = exits;

#[cfg_attr(test, expect(dead_code, reason = "the test process has no such destructor"))]
extern "C" fn exits() {
    if c_library::is_exit_watched_by_destructor() {
        exiting(None);
    }
}

/// Waits at the process' end as long as `waits` returns true, but no longer than `longest_ns`.
fn wait_at(slot: &ProcessSlot, longest_ns: u64, waits: impl Fn() -> bool) {
    let started = crate::platform::sys::monotonic_raw_ns();
    while waits() && crate::platform::sys::monotonic_raw_ns().saturating_sub(started) < longest_ns {
        slot.wait_to_part(|word, value| crate::platform::sys::wait(word, value, LOOK_MS));
    }
}

/// The process is about to exec.
pub(crate) extern "C" fn execing() {
    tracker::note(Record::Exec);
}

/// The exec failed.
pub(crate) fn exec_failed() {
    tracker::note(Record::ExecFailed);
}

/// Records that the process is about to fork, and joins the recording in the child, so that the child is known even
/// if it never allocates. `fork` may return in the child only.
#[cold]
pub(crate) fn around_fork(fork: impl FnOnce() -> Option<c_int>) -> c_int {
    let local = arch::thread_local();
    let before = local.fork.get();
    local.fork.set(tracker::forking());
    // If there is no function to call, this fails like a fork for want of resources.
    let result = fork().unwrap_or(-1);
    if result == 0 {
        needs::leave_vfork();
    }
    process::recover(crate::session::connect::close_held);
    if process::is_recorded() && process::epoch() == 0 {
        if local.work() == Work::Hook { process::part() } else { tracker::joining() }
    }
    local.fork.set(before);
    result
}

/// True when a function lies in the library of the next `malloc`: an allocator with C++ forms of its own.
#[cold]
pub(crate) fn is_of_allocator(function: *mut c_void) -> bool {
    let malloc = base_of(real::malloc_address());
    malloc.is_some() && malloc == base_of(function)
}

/// The base address of the module that an address lies in.
#[cold]
fn base_of(address: *const c_void) -> Option<usize> {
    let mut info = core::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address may be asked for, and `info` is large enough.
    let found = unsafe { libc::dladdr(address, info.as_mut_ptr()) };
    // SAFETY: zeroed, which is valid, or filled in.
    (found != 0).then(|| unsafe { info.assume_init() }.dli_fbase.addr())
}

/// True when a function lies in a library of the C++ runtime, and not in a program that was linked with one
/// statically.
#[cold]
pub(crate) fn is_of_cxx_library(function: *const c_void) -> bool {
    let mut info = core::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address may be asked for, and `info` is large enough.
    let found = !function.is_null() && unsafe { libc::dladdr(function, info.as_mut_ptr()) } != 0;
    // SAFETY: zeroed, which is valid, or filled in.
    let path = unsafe { info.assume_init() }.dli_fname;
    if !found || path.is_null() {
        return false;
    }
    // SAFETY: the loader's own string, which lives as long as the library.
    let path = unsafe { core::ffi::CStr::from_ptr(path) }.to_bytes();
    [&b"libstdc++.so"[..], b"libc++.so"].iter().any(|name| path.windows(name.len()).any(|part| part == *name))
}
