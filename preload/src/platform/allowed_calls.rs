//! What the program has forbidden itself and so the agent with it: one bit for each kind of system calls that the agent
//! makes. How a filter is judged is described in [`crate::record::sandbox`].

use super::arch;
use super::thread_local::Vforked;
use core::sync::atomic::{AtomicU32, Ordering};

/// What the agent makes system calls for, as bits of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Need {
    /// Asking whether pages can be read.
    Probe = 1,
    /// Mapping and opening memory, for threads that begin.
    Map = 2,
    /// Waiting and waking.
    Futex = 4,
    /// Finding out which process this is.
    ProcessId = 8,
    /// Finding out which stack this is.
    SignalStack = 16,
    /// Leaving a recording, and beginning another one.
    Leave = 32,
    /// Reading the file of a program about to be started.
    Files = 64,
    /// Asking which threads are gone.
    Threads = 128,
    /// Reading the time stamp counter. This is a right of each thread, which threads that it creates inherit.
    Counter = 256,
    /// Reading and changing the limit on address space.
    Limits = 512,
    /// Beginning a recording: none of [`shared_ring::system_calls::CALLS`] is deadly.
    Begin = 1024,
    /// Finding out which files are mapped.
    Mappings = 2048,
}

pub(crate) const BEGIN: u32 = Need::Begin as u32;
pub(crate) const FILES: u32 = Need::Files as u32;

/// The needs that are forbidden. Copied by fork, as filters are.
// Relaxed everywhere: a thread that installs a filter for all others while they are at work is late anyway.
static FORBIDDEN: AtomicU32 = AtomicU32::new(0);

/// The needs that are forbidden in the calling thread.
fn forbidden() -> u32 {
    FORBIDDEN.load(Ordering::Relaxed) | in_vfork(arch::thread_local().vforked())
}

/// The needs that are forbidden in a child of vfork, which may forbid itself what its parent may still do. Its memory
/// is its parent's, so there is only a byte for it: any forbidden need forbids all, except for the two that decide
/// how the child executes a program.
fn in_vfork(child: Vforked) -> u32 {
    [(child.may_not_begin, BEGIN), (child.may_not_read, FILES), (child.is_confined, !(BEGIN | FILES))]
        .into_iter()
        .filter(|(is_so, _)| *is_so)
        .fold(0, |all, (_, needs)| all | needs)
}

/// The needs that are forbidden to the process, as bits.
pub(crate) fn forbidden_to_all() -> u32 {
    FORBIDDEN.load(Ordering::Relaxed)
}

/// Forbids these needs.
#[cold]
pub(crate) fn forbid(needs: u32) {
    FORBIDDEN.fetch_or(needs, Ordering::Relaxed);
}

/// Forbids these needs and no others.
#[cold]
pub(crate) fn forbid_only(needs: u32) {
    FORBIDDEN.store(needs, Ordering::Relaxed);
}

/// True while this need is not forbidden.
pub(crate) fn allows(need: Need) -> bool {
    forbidden() & need as u32 == 0
}

/// True once any need is forbidden.
pub(crate) fn is_confined() -> bool {
    forbidden() != 0
}

/// Called right after a fork, perhaps by a child of vfork: the process then has memory of its own again, and what
/// that child had forbidden itself holds for the whole process.
#[cold]
pub(crate) fn leave_vfork() {
    let local = arch::thread_local();
    FORBIDDEN.fetch_or(in_vfork(local.vforked()), Ordering::Relaxed);
    local.set_vforked(Vforked::default());
}

/// Finds out what the process was forbidden before it began, as far as that can be asked.
#[cold]
pub(crate) fn learn() {
    use rustix::process::{TimeStampCounterReadability, time_stamp_counter_readability};
    if time_stamp_counter_readability() == Ok(TimeStampCounterReadability::RaiseSIGSEGV) {
        FORBIDDEN.fetch_or(Need::Counter as u32, Ordering::Relaxed);
    }
}

/// Finds out whether the process had a filter before this library was loaded. Nobody has seen that filter, so the
/// collector has to find out which files are mapped.
#[cold]
pub(crate) fn learn_late() {
    use rustix::thread::{SecureComputingMode, secure_computing_mode};
    if secure_computing_mode() != Ok(SecureComputingMode::Disabled) {
        FORBIDDEN.fetch_or(Need::Mappings as u32, Ordering::Relaxed);
    }
}
