//! Hardware breakpoints, which the kernel implements as performance events.

use perf_event_open_sys::bindings as sys;
use std::os::fd::OwnedFd;

/// Prepares the kernel for breakpoints, for as long as this exists. When the first event that follows a thread is
/// opened, the kernel waits until every processor has done something else, 7 to 40 ms. Opening one for ourselves gets
/// that over with before any thread is stopped for it.
#[derive(Debug)]
pub(crate) struct Ready {
    _event: Option<OwnedFd>,
}

impl Ready {
    /// Takes up to some ten milliseconds. If the system forbids us events, breakpoints still work, but slowly.
    pub(crate) fn new() -> Ready {
        let mut nothing = sys::perf_event_attr::default();
        nothing.type_ = sys::PERF_TYPE_SOFTWARE;
        nothing.config = sys::PERF_COUNT_SW_DUMMY.into();
        nothing.set_disabled(1);
        nothing.set_exclude_kernel(1);
        nothing.set_exclude_hv(1);
        // On this thread, on any processor.
        Ready { _event: crate::base::perf_event::open(nothing, 0, -1).ok() }
    }
}
