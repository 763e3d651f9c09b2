//! Beginning and end of the process, its threads and the images that it executes.

use crate::modules::c_library;
use crate::platform::allowed_calls;
use crate::platform::arch;
use crate::platform::thread_local::{Attention, ThreadLocal, Work};
use crate::process;
use crate::record::{guard, tracker};
use crate::session::{connect, fork};
use crate::thread::end;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};
use shared_ring::process_slot::ProcessSlot;
use shared_ring::record::Record;

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
arch::upcall!("sysprof_memprof_upcall_thread_ends" => thread_ends);
arch::upcall!("sysprof_memprof_upcall_exits" => exits_with);

extern "C" fn thread_ends(value: *mut c_void) {
    if end::is_early(value.addr()) {
        return;
    }
    // From here on every event of the thread claims a ring, writes, and gives it back; this one too.
    Attention::Exiting.call(arch::thread_local());
    guard::finish();
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
        process::call();
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
        allowed_calls::leave_vfork();
    }
    fork::recover(connect::close_held);
    if process::is_recorded() && process::epoch() == 0 {
        if local.work() == Work::Hook { fork::part() } else { tracker::joining() }
    }
    local.fork.set(before);
    result
}
