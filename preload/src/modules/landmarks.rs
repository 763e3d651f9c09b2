//! Names by which a loaded module is recognised as an interpreter, and where they are.
//!
//! They are looked up when the module is described, which is when the first stack has a frame in it: so it makes no
//! difference whether the program is an interpreter, is linked with one, or loads one later. The first module that has
//! the first name of a kind is the one whose frames are read.

use crate::modules::dynamic::Dynamic;
use crate::modules::loader::LinkMap;
use crate::modules::tls::TlsVariable;
use crate::platform::invalidations;
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// Most names of one kind.
const MOST: usize = 9;

/// Kinds of interpreters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Python = 1,
    Ruby = 2,
    Php = 3,
    Perl = 4,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Python, Self::Ruby, Self::Php, Self::Perl];

    fn landmarks(self) -> &'static Landmarks {
        match self {
            Self::Python => &PYTHON,
            Self::Ruby => &RUBY,
            Self::Php => &PHP,
            Self::Perl => &PERL,
        }
    }
}

/// The names of a kind of interpreter, and their addresses once there is one.
pub(crate) struct Landmarks {
    /// The first of them makes a module an interpreter.
    names: &'static [&'static CStr],
    addresses: [AtomicU64; MOST],
    /// Bytes of each.
    sizes: [AtomicU64; MOST],
    /// The name of a variable of which each thread has its own, if there is one.
    own: Option<&'static CStr>,
    /// Where that is, as words of a [`TlsVariable`].
    own_place: [AtomicU64; 2],
}

/// CPython's: [`Python`] has their order.
pub(crate) static PYTHON: Landmarks = Landmarks::of(
    &[
        c"_PyRuntime",
        c"PyCode_Type",
        c"_PyEval_EvalFrameDefault",
        c"Py_Version",
        c"PyModule_AddObjectRef",
        c"PyFrame_GetCode",
        c"PyCode_NewWithPosOnlyArgs",
    ],
    None,
);

/// Ruby's: [`Ruby`] has their order.
pub(crate) static RUBY: Landmarks =
    Landmarks::of(&[c"ruby_api_version", c"rb_cObject"], Some(c"ruby_current_ec"));

/// PHP's: [`Php`] has their order. Of the globals and their offset there is one or the other.
pub(crate) static PHP: Landmarks = Landmarks::of(
    &[
        c"zend_ce_generator",
        c"execute_ex",
        c"module_registry",
        c"executor_globals",
        c"executor_globals_offset",
    ],
    None,
);

/// Perl's: [`Perl`] has their order. With threads there is the key, and else there are the variables behind it.
pub(crate) static PERL: Landmarks = Landmarks::of(
    &[
        c"Perl_runops_standard",
        c"PL_version",
        c"PL_thr_key",
        c"PL_curinterp",
        c"PL_curstackinfo",
        c"PL_curcop",
        c"PL_op",
        c"PL_phase",
        c"PL_top_env",
    ],
    None,
);

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

/// The names of [`RUBY`] by their places.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ruby {
    Version,
    Object,
}

/// The names of [`PHP`] by their places.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Php {
    Generators,
    Evaluation,
    Extensions,
    Globals,
    GlobalsOffset,
}

/// The names of [`PERL`] by their places.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Perl {
    Evaluation,
    Version,
    Key,
    Interpreter,
    Stack,
    Position,
    Operation,
    Phase,
    Environment,
}

/// The first kind of which there was a module; 0 for none. Relaxed: who reads it reads its addresses next.
static FIRST: AtomicU8 = AtomicU8::new(0);

/// The kind of interpreter whose frames are read; `None` if there is none.
#[inline(always)]
pub(crate) fn kind() -> Option<Kind> {
    // Relaxed: see `FIRST`.
    match FIRST.load(Ordering::Relaxed) {
        1 => Some(Kind::Python),
        2 => Some(Kind::Ruby),
        3 => Some(Kind::Php),
        4 => Some(Kind::Perl),
        _ => None,
    }
}

/// True while frames of interpreters are wanted.
static ARE_WANTED: AtomicBool = AtomicBool::new(false);

/// A recording begins, which wants frames of interpreters or not.
#[cold]
pub(crate) fn begin(are_wanted: bool) {
    // Relaxed: nobody takes stacks meanwhile.
    ARE_WANTED.store(are_wanted, Ordering::Relaxed);
    invalidations::note_interpreter(are_wanted && kind().is_some());
}

/// Looks for the names in a module.
///
/// # Safety
/// The description is one of the loader's, of a module that stays loaded meanwhile, or null.
pub(super) unsafe fn look_in(map: *mut LinkMap) {
    // SAFETY: the caller vouches for it.
    let Some(map) = (unsafe { map.as_ref() }) else { return };
    let module = Dynamic::of(map);
    let found = Kind::ALL.into_iter().find(|kind| kind.landmarks().find_in(module, map));
    let (None, Some(found)) = (kind(), found) else { return };
    // Relaxed: see `FIRST`. Two threads that find different ones at once agree on one.
    let _ = FIRST.compare_exchange(0, found as u8, Ordering::Relaxed, Ordering::Relaxed);
    if ARE_WANTED.load(Ordering::Relaxed) {
        invalidations::note_interpreter(true);
    }
}

impl Landmarks {
    const fn of(names: &'static [&'static CStr], own: Option<&'static CStr>) -> Self {
        Self {
            names,
            addresses: [const { AtomicU64::new(0) }; MOST],
            sizes: [const { AtomicU64::new(0) }; MOST],
            own,
            own_place: [const { AtomicU64::new(0) }; 2],
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

    /// The variable of which each thread has its own; `None` if the module does not export it.
    pub(crate) fn own(&self) -> Option<TlsVariable> {
        // Relaxed: read after an address.
        let words = self.own_place.each_ref().map(|word| word.load(Ordering::Relaxed));
        TlsVariable::from_words(words)
    }

    /// Notes the addresses of all names if the module has the first; false if it has not.
    #[cold]
    fn find_in(&self, module: Dynamic<'_>, map: &LinkMap) -> bool {
        if self.is_found() {
            return false;
        }
        let find = |name: &CStr| module.exported(name).filter(|symbol| symbol.value != 0);
        if self.names.first().is_none_or(|name| find(name).is_none()) {
            return false;
        }
        let own = self.own.and_then(|name| TlsVariable::find(name, module, map));
        let words = own.map_or([0; 2], TlsVariable::into_words);
        for (place, word) in self.own_place.iter().zip(words) {
            place.store(word, Ordering::Relaxed);
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
