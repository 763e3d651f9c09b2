//! Breakpoints of the processor, which the kernel makes of events of its profiler.

use perf_event_open_sys::bindings as sys;
use std::os::fd::OwnedFd;

/// Makes the kernel ready for breakpoints as long as it is there. The first event that follows a thread has the kernel wait until all
/// processors have done something else, 7 to 40 ms: with an event of ours that happens before somebody else stands still for it.
#[derive(Debug)]
pub(super) struct Ready {
    _event: Option<OwnedFd>,
}

impl Ready {
    /// Takes up to some ten milliseconds. Where the system forbids us events, breakpoints are possible, but slow.
    pub(super) fn new() -> Ready {
        let mut nothing = sys::perf_event_attr::default();
        nothing.type_ = sys::PERF_TYPE_SOFTWARE;
        nothing.config = sys::PERF_COUNT_SW_DUMMY.into();
        nothing.set_disabled(1);
        nothing.set_exclude_kernel(1);
        nothing.set_exclude_hv(1);
        // Of this thread, on any processor.
        Ready { _event: crate::perf::open(nothing, 0, -1).ok() }
    }
}
