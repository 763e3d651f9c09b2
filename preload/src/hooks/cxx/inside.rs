//! Forms that are defined inside a program, beside its own `malloc`. Each is wrapped, since it may or may not bypass
//! that.

use super::{FORMS, TABLE, delete_by, is_return_from_new, record};
use crate::hooks::shims::{announcing, delete_wrapper, new_wrapper};
use crate::process::wrappers;
use crate::redirect::linked::Function;
use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};
use shared_ring::pseudo;

/// The next forms for those inside the program: their moved beginnings.
static LINKED: [AtomicPtr<c_void>; FORMS] = [const { AtomicPtr::new(core::ptr::null_mut()) }; FORMS];

wrappers! { LINKED, new
    linked_new_0 0; linked_new_1 1; linked_new_2 2; linked_new_3 3; linked_new_4 4; linked_new_5 5; linked_new_6 6;
    linked_new_7 7;
}
wrappers! { delete_linked, delete
    linked_delete_8 8; linked_delete_9 9; linked_delete_10 10; linked_delete_11 11; linked_delete_12 12;
    linked_delete_13 13; linked_delete_14 14; linked_delete_15 15; linked_delete_16 16; linked_delete_17 17;
    linked_delete_18 18; linked_delete_19 19;
}

/// Hooks of `new` inside the program: announce the kind and go on to the wrapper.
macro_rules! announcers {
    ($($function:ident $wrapper:literal $kind:expr;)*) => {
        $(announcing! { $function $kind, on $wrapper })*
    };
}

announcers! {
    announce_new "sysprof_memprof_linked_new_0" pseudo::NEW;
    announce_new_array "sysprof_memprof_linked_new_1" pseudo::NEW_ARRAY;
    announce_new_nothrow "sysprof_memprof_linked_new_2" pseudo::NEW;
    announce_new_array_nothrow "sysprof_memprof_linked_new_3" pseudo::NEW_ARRAY;
    announce_new_aligned "sysprof_memprof_linked_new_4" pseudo::NEW_ALIGNED;
    announce_new_array_aligned "sysprof_memprof_linked_new_5" pseudo::NEW_ARRAY_ALIGNED;
    announce_new_aligned_nothrow "sysprof_memprof_linked_new_6" pseudo::NEW_ALIGNED;
    announce_new_array_aligned_nothrow "sysprof_memprof_linked_new_7" pseudo::NEW_ARRAY_ALIGNED;
}

/// Lists the forms that a program may have inside.
#[cold]
pub(in crate::hooks) fn linked_forms(tell: &mut dyn FnMut(Function)) {
    linked(&TABLE.each_ref().map(|form| form.name), tell);
}

/// Other names of the forms, in the same order: tcmalloc's.
const NAMES: [&CStr; FORMS] = [
    c"tc_new",
    c"tc_newarray",
    c"tc_new_nothrow",
    c"tc_newarray_nothrow",
    c"tc_new_aligned",
    c"tc_newarray_aligned",
    c"tc_new_aligned_nothrow",
    c"tc_newarray_aligned_nothrow",
    c"tc_delete",
    c"tc_deletearray",
    c"tc_delete_sized",
    c"tc_deletearray_sized",
    c"tc_delete_nothrow",
    c"tc_deletearray_nothrow",
    c"tc_delete_aligned",
    c"tc_deletearray_aligned",
    c"tc_delete_sized_aligned",
    c"tc_deletearray_sized_aligned",
    c"tc_delete_aligned_nothrow",
    c"tc_deletearray_aligned_nothrow",
];

/// Lists the forms that an allocator has under names of its own.
#[cold]
pub(in crate::hooks) fn linked_names(tell: &mut dyn FnMut(Function)) {
    linked(&NAMES, tell);
}

fn linked(names: &[&'static CStr; FORMS], tell: &mut dyn FnMut(Function)) {
    let new = [
        announce_new,
        announce_new_array,
        announce_new_nothrow,
        announce_new_array_nothrow,
        announce_new_aligned,
        announce_new_array_aligned,
        announce_new_aligned_nothrow,
        announce_new_array_aligned_nothrow,
    ]
    .map(|hook| hook as unsafe extern "C" fn() as *const ());
    let delete = addresses![
        sysprof_memprof_linked_delete_8,
        sysprof_memprof_linked_delete_9,
        sysprof_memprof_linked_delete_10,
        sysprof_memprof_linked_delete_11,
        sysprof_memprof_linked_delete_12,
        sysprof_memprof_linked_delete_13,
        sysprof_memprof_linked_delete_14,
        sysprof_memprof_linked_delete_15,
        sysprof_memprof_linked_delete_16,
        sysprof_memprof_linked_delete_17,
        sysprof_memprof_linked_delete_18,
        sysprof_memprof_linked_delete_19
    ];
    for (index, (name, hook)) in names.iter().zip(new.into_iter().chain(delete)).enumerate() {
        tell(Function { name, hook: hook.cast(), keep: keep_linked, index });
    }
}

/// Publishes the moved beginning of a form.
fn keep_linked(index: usize, moved: *mut c_void) {
    if let Some(place) = LINKED.get(index) {
        place.store(moved, Ordering::Relaxed);
    }
    wrappers::begin(is_return_from_new);
}

/// [`super::delete`] for forms inside the program.
extern "C" fn delete_linked(
    block: *mut c_void,
    second: usize,
    third: usize,
    index: usize,
    entry: *const u64,
    bp: u64,
) {
    delete_by(LINKED.get(index), [second, third], block, entry, bp);
}
