//! Names by which a loaded module is recognised as an interpreter, and where they are.
//!
//! They are looked up when the module is described, which is when the first stack has a frame in it: so it makes no
//! difference whether the program is an interpreter, is linked with one, or loads one later. The first module that has
//! all of a kind of interpreter's required names is the one whose frames are read.

use crate::modules::dynamic::Dynamic;
use crate::modules::loader::LinkMap;
use crate::platform::invalidations;
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Most names of one kind.
const MOST: usize = 8;

/// The names of a kind of interpreter, and their addresses once there is one.
pub(crate) struct Landmarks {
    /// The first of them makes a module an interpreter.
    names: &'static [&'static CStr],
    addresses: [AtomicU64; MOST],
    /// Bytes of each.
    sizes: [AtomicU64; MOST],
}

/// CPython's: [`Python`] has their order.
pub(crate) static PYTHON: Landmarks = Landmarks::of(&[
    c"_PyRuntime",
    c"PyCode_Type",
    c"_PyEval_EvalFrameDefault",
    c"Py_Version",
    c"PyModule_AddObjectRef",
    c"PyFrame_GetCode",
    c"PyCode_NewWithPosOnlyArgs",
]);

/// The names of [`PYTHON`] by their places.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Python {
    Runtime,
    CodeType,
    Evaluation,
    Version,
    Since310,
    Since39,
    Since38,
}

/// True while frames of interpreters are wanted.
static ARE_WANTED: AtomicBool = AtomicBool::new(false);

/// A recording begins, which wants frames of interpreters or not.
#[cold]
pub(crate) fn begin(are_wanted: bool) {
    // Relaxed: nobody takes stacks meanwhile.
    ARE_WANTED.store(are_wanted, Ordering::Relaxed);
    invalidations::note_interpreter(are_wanted && PYTHON.is_found());
}

/// Looks for the names in a module.
///
/// # Safety
/// The description is one of the loader's, of a module that stays loaded meanwhile, or null.
pub(super) unsafe fn look_in(map: *mut LinkMap) {
    // SAFETY: the caller vouches for it.
    let Some(map) = (unsafe { map.as_ref() }) else { return };
    if !PYTHON.is_found() && PYTHON.find_in(Dynamic::of(map)) && ARE_WANTED.load(Ordering::Relaxed) {
        invalidations::note_interpreter(true);
    }
}

impl Landmarks {
    const fn of(names: &'static [&'static CStr]) -> Self {
        Self {
            names,
            addresses: [const { AtomicU64::new(0) }; MOST],
            sizes: [const { AtomicU64::new(0) }; MOST],
        }
    }

    /// True once a module has been recognised.
    pub(crate) fn is_found(&self) -> bool {
        self.address(0) != 0
    }

    /// The address of a name, by its place; 0 if the module does not export it.
    pub(crate) fn address(&self, place: usize) -> u64 {
        // Acquire pairs with the Release stores in `find_in`, of which that of the first name comes last.
        self.addresses.get(place).map_or(0, |address| address.load(Ordering::Acquire))
    }

    /// Bytes of what a name stands for.
    pub(crate) fn size(&self, place: usize) -> u64 {
        // Relaxed: read after the address.
        self.sizes.get(place).map_or(0, |size| size.load(Ordering::Relaxed))
    }

    /// Notes the addresses of all names if the module has the first; false if it has not.
    #[cold]
    fn find_in(&self, module: Dynamic<'_>) -> bool {
        let find = |name: &CStr| module.exported(name).filter(|symbol| symbol.value != 0);
        if self.names.first().is_none_or(|name| find(name).is_none()) {
            return false;
        }
        // The first name last: whoever sees it sees all. Two threads at once find the same.
        let places = self.names.iter().zip(self.addresses.iter().zip(&self.sizes));
        for (name, (address, size)) in places.rev() {
            let Some(symbol) = find(name) else { continue };
            size.store(symbol.size, Ordering::Relaxed);
            address.store(module.bias().wrapping_add(symbol.value), Ordering::Release);
        }
        true
    }
}
