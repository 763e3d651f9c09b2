//! Modules that were opened with `RTLD_DEEPBIND`. They find libc's functions before ours, so half of the calls for
//! blocks that pass between them and others would go unseen, as with extensions of PHP. Therefore the words through
//! which they call are changed, as in a process that the agent was loaded into.
//!
//! Only words that lead where our hook would forward to, or that are not bound yet, are changed: what a module brings
//! itself, it keeps.

use crate::modules;
use crate::modules::dynamic::{Dynamic, Relocation, Symbol};
use crate::modules::loader::LinkMap;
use crate::modules::search;
use crate::next::real;
use crate::platform::elf::{DT_JMPREL, DT_PLTRELSZ, DT_RELA, DT_RELASZ, R_ABSOLUTE, R_GLOB_DAT, R_JUMP_SLOT};
use crate::platform::own_image;
use crate::redirect::got;
use core::ffi::{CStr, c_void};

/// Modules of one `dlopen` that are looked at; the words of any beyond are not changed.
const MODULES: usize = 128;

/// Called when a module, and with it those that it needs, was opened past us. The caller has a handle for it and
/// holds no lock; `has` tells the names of hooks. Returns the first of them with an allocator of its own, whose calls reach nobody else.
#[cold]
pub(crate) fn bind(handle: *mut c_void, has: fn(&CStr) -> bool) -> Option<&'static LinkMap> {
    let mut all = [core::ptr::null_mut(); MODULES];
    all[0] = handle.cast::<LinkMap>();
    let mut count = 1;
    let mut at = 0;
    let mut unseen = None;
    while let Some(&map) = all.get(at).filter(|_| at < count) {
        at += 1;
        // SAFETY: in glibc a handle is such a description. This module stays loaded as long as the first one does.
        let map = unsafe { &*map };
        let module = Dynamic::of(map);
        bind_words(module, has);
        if module.exported(c"malloc").is_some_and(Symbol::is_function) {
            unseen = unseen.or(Some(map));
        }
        for needed in module.needed() {
            let other = search::loaded(needed)
                .map_or(core::ptr::null_mut(), |module| core::ptr::from_ref(module).cast_mut());
            let is_new = !other.is_null() && !all.contains(&other) && !is_left_alone(other);
            if let Some(place) = all.get_mut(count).filter(|_| is_new) {
                *place = other;
                count += 1;
            }
        }
    }
    unseen
}

/// True for this library, libc and the allocator: none of them should call us. And for the loader, which in older glibc
/// (2.31 is one) exports an allocator, which it uses itself until there is another.
fn is_left_alone(map: *mut LinkMap) -> bool {
    let of = |address: *const c_void| modules::around(address) == Some(map);
    // SAFETY: has no preconditions. It is 0, in no module, if the loader was itself executed.
    let loader = unsafe { libc::getauxval(libc::AT_BASE) };
    let loader = core::ptr::without_provenance(loader as usize);
    of(bind as *const c_void)
        || of(libc::getauxval as *const c_void)
        || of(real::malloc_address())
        || of(loader)
}

/// Redirects the words of a module to us.
fn bind_words(module: Dynamic<'_>, has: fn(&CStr) -> bool) {
    for (table, length) in [(DT_JMPREL, DT_PLTRELSZ), (DT_RELA, DT_RELASZ)] {
        for relocation in module.relocations(table, length) {
            let is_function = matches!(relocation.kind, R_JUMP_SLOT | R_GLOB_DAT | R_ABSOLUTE);
            if is_function && relocation.symbol != 0 && relocation.addend == 0 {
                bind_word(module, relocation, has);
            }
        }
    }
}

fn bind_word(module: Dynamic<'_>, relocation: &Relocation, has: fn(&CStr) -> bool) -> Option<()> {
    let symbol = module.symbol(relocation.symbol)?;
    if symbol.section != 0 {
        return None;
    }
    // Other names are not looked up, since a failing look-up allocates.
    let name = module.text(symbol.name.into()).filter(|name| has(name))?;
    // SAFETY: the name is a string.
    let ours = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if !own_image::has(ours.addr() as u64) {
        return None;
    }
    let word: *const usize =
        core::ptr::with_exposed_provenance(module.bias().wrapping_add(relocation.offset) as usize);
    // SAFETY: the module is loaded, and this is a word of its own.
    let from = unsafe { word.read_volatile() };
    let leads_to = core::ptr::without_provenance(from);
    // A lazily bound word leads into its own module until the first call through it.
    let is_unbound = relocation.kind == R_JUMP_SLOT
        && modules::around(leads_to).is_some_and(|module| Some(module) == modules::around(word.cast()));
    if is_unbound || leads_to == real::look_up(name) {
        got::lead(word.cast(), from, ours.addr());
    }
    Some(())
}
