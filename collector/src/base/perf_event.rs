//! Opens performance events.

use perf_event_open_sys::bindings as sys;
use rustix::fd::{FromRawFd, OwnedFd};
use std::io;

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
