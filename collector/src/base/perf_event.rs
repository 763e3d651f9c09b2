//! Opens performance events.

use perf_event_open_sys::bindings as sys;
use rustix::fd::{FromRawFd, OwnedFd};
use std::io;

/// Opens an event of this thread that counts nothing, and closes it again.
///
/// While no thread of the machine has an event, task switches do not look for any. The kernel lets the first one wait
/// until all processors know that they must (an RCU grace period, 5 to 30 ms), and keeps them looking for a second. A
/// process that has nothing else to do takes that wait, so that those who start the recording find it over, or half over.
///
/// It makes system calls only, as is needed between fork and execve.
pub(crate) fn await_first() {
    let mut attributes = sys::perf_event_attr::default();
    attributes.type_ = sys::PERF_TYPE_SOFTWARE;
    attributes.config = sys::PERF_COUNT_SW_DUMMY.into();
    attributes.set_disabled(1);
    attributes.set_exclude_kernel(1);
    // Those who need one say why there is none.
    let _ = open(attributes, 0, -1);
}

/// Opens an event for a thread or a processor; -1 stands for any.
pub(crate) fn open(mut attributes: sys::perf_event_attr, pid: i32, cpu: i32) -> io::Result<OwnedFd> {
    attributes.size = size_of::<sys::perf_event_attr>() as u32;
    let flags = sys::PERF_FLAG_FD_CLOEXEC.into();
    // SAFETY: the attributes are initialised, have their size in them, and ask for samples into a ring at most.
    let descriptor =
        unsafe { perf_event_open_sys::perf_event_open(&raw mut attributes, pid, cpu, -1, flags) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
