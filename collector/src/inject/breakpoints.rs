//! Breakpoints of the processor, which the kernel makes of events of its profiler.

use perf_event_open_sys::bindings as sys;
use std::os::fd::{FromRawFd, OwnedFd};

/// Makes the kernel ready for breakpoints as long as it is there. The first event that follows a thread has the kernel wait until all
/// processors have done something else, 10 to 40 ms: with an event of ours that happens before somebody else stands still for it.
#[derive(Debug)]
pub(super) struct Ready {
    _event: Option<OwnedFd>,
}

impl Ready {
    /// Takes up to some ten milliseconds. Where the system forbids us events, breakpoints are possible, but slow.
    pub(super) fn new() -> Ready {
        let mut nothing = sys::perf_event_attr::default();
        nothing.type_ = sys::PERF_TYPE_SOFTWARE;
        nothing.size = size_of::<sys::perf_event_attr>() as u32;
        nothing.config = sys::PERF_COUNT_SW_DUMMY.into();
        nothing.set_disabled(1);
        nothing.set_exclude_kernel(1);
        nothing.set_exclude_hv(1);
        let flags = sys::PERF_FLAG_FD_CLOEXEC.into();
        // SAFETY: the attributes are initialised and have their size in them; the event is one of this thread, and counts nothing.
        let event = unsafe { perf_event_open_sys::perf_event_open(&raw mut nothing, 0, -1, -1, flags) };
        // SAFETY: the descriptor was just made and belongs to nobody else.
        Ready { _event: (event >= 0).then(|| unsafe { OwnedFd::from_raw_fd(event) }) }
    }
}
