//! All replaceable forms of `operator new` and `operator delete`.
//!
//! The forms of libstdc++ and libc++ call `malloc` and `free`, where the event is recorded: their hooks here announce
//! the kind and the requested size (the aligned forms request more from `malloc`) and jump on. jemalloc, tcmalloc and
//! mimalloc bring forms of their own that bypass `malloc`. Those are wrapped and recorded here, except for blocks
//! that nevertheless come from a function with a hook of ours, as in jemalloc's aligned forms: that hook has recorded
//! the block under the announced kind. Which of the two cases applies is decided by whether the next `malloc` is in
//! the same library. A `bad_alloc` passes through the wrapper, which holds nothing that would have to be undone; the
//! unwinder asks us on its way, so the call that got no memory is recorded.

mod forms;
mod inside;

pub(super) use inside::{linked_forms, linked_names};

use super::shims::{CALLERS_FRAME, SECOND_ARGUMENT, announcing, swapping, thrown_hook};
use crate::modules;
use crate::modules::origin;
use crate::next::real;
use crate::platform::errno;
use crate::process::{filter, wrappers};
use crate::record::guard::Inside;
use crate::record::tracker;
use crate::thread::sampler;
use crate::thread::stack::Caller;
use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};
use forms::{forms, return_address, wrapper};
use shared_ring::pseudo;

/// Number of forms.
const FORMS: usize = 20;

/// One of the forms.
struct Form {
    name: &'static CStr,
    /// The name that tcmalloc has for it beside this one.
    other_name: &'static CStr,
    /// Pseudo frame of the kind; 0 for delete.
    kind: u32,
}

macro_rules! table {
    ($($operator:ident $index:literal $function:ident $name:literal $other:literal $kind:expr;)*) => {
        static TABLE: [Form; FORMS] = [
            $(Form { name: c_name(concat!($name, "\0")), other_name: c_name(concat!($other, "\0")), kind: $kind }),*
        ];
    };
}
forms! { table }

/// The name with its zero.
#[expect(clippy::panic, reason = "the compiler evaluates it")]
const fn c_name(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name has one zero, at its end"),
    }
}

/// True for the name of a form.
pub(crate) fn is_form(name: &CStr) -> bool {
    TABLE.iter().any(|form| form.name == name)
}

/// Where each form's export jumps to: the next form or its wrapper; null until the first call.
static TARGETS: [AtomicPtr<c_void>; FORMS] = [const { AtomicPtr::new(core::ptr::null_mut()) }; FORMS];
/// The next forms behind wrappers.
static WRAPPED: [AtomicPtr<c_void>; FORMS] = [const { AtomicPtr::new(core::ptr::null_mut()) }; FORMS];

/// The announced kind that the hook of a form leaves in place: libstdc++'s array forms call the single ones.
pub(super) const fn array_form_of(kind: u32) -> u32 {
    match kind {
        pseudo::NEW => pseudo::NEW_ARRAY,
        pseudo::NEW_ALIGNED => pseudo::NEW_ARRAY_ALIGNED,
        kind => kind,
    }
}

/// The exports: each announces the kind and jumps to the target.
macro_rules! exports {
    ($($operator:ident $index:literal $function:ident $name:literal $other:literal $kind:expr;)*) => {
        $(
            announcing! {
                #[cfg_attr(not(test), unsafe(export_name = $name))]
                $function $kind, to TARGETS $index find
            }
        )*
    };
}
forms! { exports }

/// Wrappers of forms that bypass `malloc`.
mod wrapped {
    use super::{WRAPPED, delete, forms, record, wrapper};

    macro_rules! wrappers {
        ($($operator:ident $index:literal $function:ident $name:literal $other:literal $kind:expr;)*) => {
            $(wrapper! { "sysprof_memprof_" $operator $index $function, WRAPPED, delete })*

            // The labels below are in these functions, so they must be there even in unit tests, where nothing calls them.
            #[used]
            pub(super) static ALL: [unsafe extern "C" fn(); super::FORMS] = [$($function),*];

            /// Where they are returned to.
            pub(super) fn return_addresses() -> [*const (); super::FORMS] {
                [$(super::return_address!("sysprof_memprof_" $operator $function)),*]
            }
        };
    }
    forms! { wrappers }
}

/// Notes that a form now leads to us, and that what it was begins elsewhere: wrappers go on there.
#[cold]
pub(super) fn note_moved(form: *mut c_void, beginning: *mut c_void) {
    for place in WRAPPED.iter().filter(|place| place.load(Ordering::Relaxed) == form) {
        place.store(beginning, Ordering::Relaxed);
    }
}

/// True for an address to which a wrapped form of `new` returns.
#[cold]
fn is_return_from_new(address: u64) -> bool {
    let all = wrapped::return_addresses().into_iter().chain(inside::return_addresses());
    all.filter(|returns| !returns.is_null()).any(|returns| returns.addr() as u64 == address)
}

/// Looks up all forms, if there is a C++ library yet. Called once, by the constructor: later the loader's lock may be
/// held by a thread that does not exist in this forked child.
pub(crate) fn find_all() {
    // A failing look-up would allocate, and a program with its C++ library inside need not have all forms.
    if origin::is_of_cxx_library(crate::platform::arch::weak!("__cxa_allocate_exception")) {
        (0..FORMS).for_each(look_up);
    }
}

/// The target of a form, looked up at the first call of any form.
///
/// All forms are looked up together: a plug-in's constructor that starts a thread has called a form itself and holds
/// the loader's lock, and a look-up for another form in that thread would have to wait for that lock.
#[cold]
extern "C" fn find(index: usize) -> *mut c_void {
    for (other, place) in TARGETS.iter().enumerate() {
        if place.load(Ordering::Relaxed).is_null() {
            look_up(other);
        }
    }
    TARGETS.get(index).map_or(core::ptr::null_mut(), |place| place.load(Ordering::Acquire))
}

#[cold]
fn look_up(index: usize) {
    let Some(form) = TABLE.get(index) else { return };
    let next = real::look_up_form(form.name);
    let target = if next.is_null() {
        // There is no C++ library, so nobody can expect an exception. The hook of `malloc` records the block as
        // announced.
        let target = match form.kind {
            0 => super::heap::free as *const (),
            pseudo::NEW_ALIGNED | pseudo::NEW_ARRAY_ALIGNED => aligned_without_library as *const (),
            _ => super::heap::malloc as *const (),
        };
        target.cast_mut().cast()
    } else if real::is_of_allocator(next) {
        if let Some(place) = WRAPPED.get(index) {
            place.store(next, Ordering::Relaxed);
        }
        wrappers::begin(is_return_from_new);
        wrapped::ALL
            .get(index)
            .map_or(core::ptr::null_mut(), |wrapper| (*wrapper as *const ()).cast_mut().cast())
    } else {
        next
    };
    if let Some(place) = TARGETS.get(index) {
        // Release: a thread that sees the wrapper sees what it wraps, and that wrappers exist.
        place.store(target, Ordering::Release);
    }
}

swapping!(
    /// An aligned `new` is `aligned_alloc` with its first two arguments swapped.
    aligned_without_library,
    super::heap::aligned_alloc
);

/// Forgets forms in libraries that were unloaded; they will be looked up again.
#[cold]
pub(crate) fn forget_unloaded() {
    for place in &TARGETS {
        let target = place.load(Ordering::Relaxed);
        if !target.is_null() && modules::around(target).is_none() {
            // A form that was found meanwhile stays.
            let _ =
                place.compare_exchange(target, core::ptr::null_mut(), Ordering::Release, Ordering::Relaxed);
        }
    }
}

extern "C" fn record(
    block: *mut c_void,
    size: usize,
    second: usize,
    index: usize,
    entry: *const u64,
    bp: u64,
) {
    let local = crate::platform::arch::thread_local();
    let announced = u32::from(local.kind_hint.replace(0));
    if block.is_null() {
        // Otherwise a hook that the form called has recorded the failure, and consumed the announcement.
        if announced != 0 {
            let alignment = if is_aligned(announced) { second } else { 0 };
            // SAFETY: the wrapper passes the stack pointer at the entry of the export.
            let caller = unsafe { Caller::of_entry(entry, bp) };
            tracker::failed(size, alignment, errno::get(), announced, caller);
        }
        return;
    }
    if local.hinted_block.replace(0) == crate::platform::thread_local::hinted(block.addr()) {
        return;
    }
    // An array form inside the program may have called this one, and will check next.
    local.hinted_block.set(crate::platform::thread_local::hinted(block.addr()));
    let Some(candidate) = sampler::candidate(size) else { return };
    let kind = TABLE.get(index).map_or(0, |form| form.kind);
    let kind = if array_form_of(kind) == announced { announced } else { kind };
    // SAFETY: the wrapper passes the stack pointer at the entry of the export.
    let caller = unsafe { Caller::of_entry(entry, bp) };
    tracker::allocated(
        candidate,
        block.addr(),
        size,
        if is_aligned(kind) { second } else { 0 },
        kind,
        caller,
    );
}

thrown_hook!(thrown);

/// The personality routine of wrapped forms: the C++ unwinder calls it when an exception leaves one, which then has
/// got no memory. If a hook that the form called has recorded that, it has consumed the announcement.
///
/// The unwinder passes all frames twice, first to search for a handler; that is when this records. It then continues
/// as if there were no personality routine.
extern "C" fn thrown(_version: c_int, actions: c_int, _: u64, _: *mut c_void, context: *mut c_void) -> c_int {
    const SEARCH: c_int = 1;
    const CONTINUE: c_int = 8;
    let local = crate::platform::arch::thread_local();
    if actions & SEARCH == 0 {
        return CONTINUE;
    }
    let announced = u32::from(local.kind_hint.replace(0));
    if announced != 0 {
        let (caller, second) = thrown_through(context);
        let alignment = if is_aligned(announced) { second } else { 0 };
        tracker::failed(local.size_hint.get(), alignment, errno::get(), announced, caller);
    }
    CONTINUE
}

/// The caller of the wrapper that an exception leaves, and the wrapper's second argument. If `_Unwind_GetCFA`, which
/// is in the unwinder's library, is missing, the thrower counts as the caller.
fn thrown_through(context: *mut c_void) -> (Caller, usize) {
    let frame = crate::platform::arch::weak!("_Unwind_GetCFA");
    if frame.is_null() {
        return (Caller::here(), 0);
    }
    // SAFETY: found under this name, which only this function has.
    let frame =
        unsafe { core::mem::transmute::<*const c_void, unsafe extern "C" fn(*mut c_void) -> usize>(frame) };
    // SAFETY: the context is the unwinder's own. The result is the stack pointer with which the form was called.
    let sp = core::ptr::with_exposed_provenance::<u64>(unsafe { frame(context) });
    // SAFETY: the wrapper keeps the argument there as long as its frame lives.
    let second = unsafe { sp.wrapping_add(SECOND_ARGUMENT).read() };
    let kept = sp.wrapping_add(CALLERS_FRAME);
    // SAFETY: the wrapper keeps its caller's frame pointer there.
    let bp = unsafe { kept.read() };
    // SAFETY: the return address follows, as at the entry.
    (unsafe { Caller::of_entry(kept.wrapping_add(1), bp) }, second as usize)
}

/// True for forms whose second argument is an alignment.
fn is_aligned(kind: u32) -> bool {
    kind == pseudo::NEW_ALIGNED || kind == pseudo::NEW_ARRAY_ALIGNED
}

/// All wrapped forms of delete: the next form gets the arguments unchanged.
extern "C" fn delete(
    block: *mut c_void,
    second: usize,
    third: usize,
    index: usize,
    entry: *const u64,
    bp: u64,
) {
    delete_by(WRAPPED.get(index), [second, third], block, entry, bp);
}

/// The next form may call `free`, as jemalloc's do, which is then part of this call; and it may not throw.
fn delete_by(
    next: Option<&AtomicPtr<c_void>>,
    [second, third]: [usize; 2],
    block: *mut c_void,
    entry: *const u64,
    bp: u64,
) {
    let local = crate::platform::arch::thread_local();
    local.kind_hint.set(0);
    let address = block.addr();
    if address != 0 && !filter::take_inner(address) && filter::take(address) {
        // SAFETY: the wrapper passes the stack pointer at the entry of the export.
        let caller = unsafe { Caller::of_entry(entry, bp) };
        tracker::freeing(block.addr(), caller);
    }
    let Some(next) = next.map(|next| next.load(Ordering::Relaxed)) else { return };
    // SAFETY: found under the name of such a form; forms with fewer parameters ignore the others.
    let next =
        unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void, usize, usize)>(next) };
    let _inside = Inside::of(local);
    // SAFETY: passed on unchanged.
    unsafe { next(block, second, third) };
}
