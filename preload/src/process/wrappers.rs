//! Wrappers of forms of `operator new` that may bypass `malloc`: whether there are any, and which code is theirs.

use core::sync::atomic::{AtomicPtr, Ordering};

/// Tells the addresses that such wrappers call from, those behind the calls. Null while there are no wrappers.
static IS_RETURN: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// True for an address to which a wrapper returns.
type IsReturn = fn(address: u64) -> bool;

/// From now on there are wrappers.
#[cold]
pub(crate) fn begin(is_return: IsReturn) {
    IS_RETURN.store(is_return as *mut (), Ordering::Relaxed);
}

/// True when a form may be wrapped; its wrapper checks which block was announced.
#[inline(always)]
pub(crate) fn are_there() -> bool {
    // Relaxed: what such a wrapper calls is called by the thread that stored this, or that loaded the wrapper from
    // where it is published.
    !IS_RETURN.load(Ordering::Relaxed).is_null()
}

/// True for an address to which a wrapper returns.
#[cold]
pub(crate) fn is_return(address: u64) -> bool {
    let function = IS_RETURN.load(Ordering::Relaxed);
    // SAFETY: null, or a function of this type; an optional function is null or its address.
    let function = unsafe { core::mem::transmute::<*mut (), Option<IsReturn>>(function) };
    function.is_some_and(|is_return| is_return(address))
}
