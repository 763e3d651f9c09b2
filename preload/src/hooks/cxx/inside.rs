//! Forms that are defined inside a program, beside its own `malloc`. Each is wrapped, since it may or may not bypass
//! that.

use super::forms::{forms, return_address, wrapper};
use super::{FORMS, Form, TABLE, delete_by, is_return_from_new, record};
use crate::hooks::shims::announcing;
use crate::process::wrappers;
use crate::redirect::linked::Function;
use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};
use shared_ring::pseudo;

/// The next forms for those inside the program: their moved beginnings.
static LINKED: [AtomicPtr<c_void>; FORMS] = [const { AtomicPtr::new(core::ptr::null_mut()) }; FORMS];

macro_rules! wrappers {
    ($($operator:ident $index:literal $function:ident $name:literal $other:literal $kind:expr;)*) => {
        $(wrapper! { "sysprof_memprof_linked_" $operator $index $function, LINKED, delete_linked })*

        /// Hooks of `new` announce the kind and go on to the wrapper; those of `delete` are the wrappers.
        const HOOKS: [unsafe extern "C" fn(); FORMS] = [$(hook!($operator $function $kind)),*];

        /// Where wrappers are returned to.
        pub(super) fn return_addresses() -> [*const (); FORMS] {
            [$(return_address!("sysprof_memprof_linked_" $operator $function)),*]
        }
    };
}

macro_rules! hook {
    (new $function:ident $kind:expr) => {{
        announcing! { announce $kind, on $function }
        announce
    }};
    (delete $function:ident $kind:expr) => {
        $function
    };
}

forms! { wrappers }

/// Lists the forms that a program may have inside.
#[cold]
pub(in crate::hooks) fn linked_forms(tell: &mut dyn FnMut(Function)) {
    linked(|form| form.name, tell);
}

/// Lists the forms that an allocator has under names of its own.
#[cold]
pub(in crate::hooks) fn linked_names(tell: &mut dyn FnMut(Function)) {
    linked(|form| form.other_name, tell);
}

fn linked(name: impl Fn(&Form) -> &'static CStr, tell: &mut dyn FnMut(Function)) {
    for (index, (form, hook)) in TABLE.iter().zip(HOOKS).enumerate() {
        tell(Function { name: name(form), hook: (hook as *const ()).cast(), keep: keep_linked, index });
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
