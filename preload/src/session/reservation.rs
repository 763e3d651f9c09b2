//! The range of addresses that sessions are mapped into.
//!
//! A process has one range for its whole life, so that nothing of ours is ever unmapped under a hook:
//!
//! ```text
//!  recorded   │ segment: opened piece by piece        ···· no access ···· │ control │
//!  detached   │ beginning: private zeros │ ·········· no access ········· │ zeros   │
//! ```
//!
//! What hooks access without being counted as inside (the slots' counters, the control words) can be read and written
//! at any time; what is written after the detach is lost in private pages. Everything else is used only by hooks that
//! are waited for, see [`crate::session::departure`].

use crate::platform::{address_space, sys};
use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use rustix::fd::BorrowedFd;
use rustix::mm::{Advice, ProtFlags};
use shared_ring::geometry::Geometry;

// Relaxed, both: only the thread that connects changes them, and the session is published afterwards.
static START: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// A session's two mapped memories: segment and control.
pub(crate) type Places = (*mut c_void, *mut c_void);

/// Maps a session's memories into the range; `None` when the system refuses.
#[cold]
pub(crate) fn map(geometry: &Geometry, segment: BorrowedFd<'_>, control: BorrowedFd<'_>) -> Option<Places> {
    let layout = geometry.layout();
    let start = reserve(layout.length.checked_add(layout.control_length)?)?;
    let words = start.wrapping_byte_add(layout.length);
    // Everything but the beginning stays inaccessible until it is used; otherwise mlockall would make all of it
    // resident.
    // SAFETY: the range is ours and nobody uses it: either it is new, or the last session was left for good.
    let is_mapped = unsafe { sys::map_shared_at(start, layout.length, ProtFlags::empty(), segment) }
        // SAFETY: as above.
        && unsafe { sys::map_shared_at(words, layout.control_length, ProtFlags::READ, control) };
    if !is_mapped {
        void(geometry);
        return None;
    }
    // SAFETY: advice about our own mapping.
    let _ = unsafe { rustix::mm::madvise(start, layout.length, Advice::LinuxDontDump) };
    // SAFETY: the beginning lies in the mapping.
    unsafe { sys::open(start, layout.modules.offset) }.then_some((start, words))
}

/// Replaces a session's memories by private pages.
#[cold]
pub(crate) fn void(geometry: &Geometry) -> bool {
    let layout = geometry.layout();
    let start = START.load(Ordering::Relaxed);
    let beginning = layout.modules.offset;
    let both = ProtFlags::READ | ProtFlags::WRITE;
    let parts = [
        (0, beginning, both),
        (beginning, layout.length - beginning, ProtFlags::empty()),
        (layout.length, layout.control_length, both),
    ];
    parts.into_iter().all(|(offset, bytes, access)| {
        // SAFETY: the parts lie in the range, which the session's mappings filled. Whoever still looks at what stays
        // accessible finds zeros there, and nobody uses the rest any more.
        unsafe { sys::map_private_at(start.wrapping_byte_add(offset), bytes, access) }
    })
}

/// The range, reserved at first use. One that is too small is left behind: it is only address space.
fn reserve(bytes: usize) -> Option<*mut c_void> {
    if BYTES.load(Ordering::Relaxed) < bytes {
        let start = sys::reserve(bytes)?;
        START.store(start, Ordering::Relaxed);
        BYTES.store(bytes, Ordering::Relaxed);
        address_space::note_reserved(bytes);
    }
    Some(START.load(Ordering::Relaxed))
}

/// Unmaps all that lies in the range, in a child that was forked while its parent was mapping a session there.
#[cold]
pub(crate) fn take_away() {
    let (start, bytes) = (START.load(Ordering::Relaxed), BYTES.load(Ordering::Relaxed));
    if bytes != 0 {
        // If this fails, the session's memory stays mapped and nobody uses it.
        // SAFETY: the range is ours, and nobody uses it except for words that may be zeros.
        let _ = unsafe { sys::map_private_at(start, bytes, ProtFlags::READ | ProtFlags::WRITE) };
    }
}
