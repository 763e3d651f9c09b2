//! The next functions in the search order: what the program would have called without us.
//!
//! They are looked up by `dlsym(RTLD_NEXT)` once, all together, because a successful look-up allocates nothing.
//! Those of C++, which may be missing, are looked up at their first call instead, because a failing look-up allocates.

mod from_program;

use crate::modules::dynamic::Dynamic;
use crate::modules::{c_library, loader, origin, search};
use crate::platform::address_space::Limit;
use crate::platform::own_call::own_call;
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

// The home of `dlsym` before glibc 2.34. Since then it is in libc, and this library is not needed.
#[link(name = "dl")]
unsafe extern "C" {}

/// One function of the next library.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Next {
    /// First, for shims that jump to it. Relaxed everywhere: the code it points to has been there since the program's
    /// start.
    address: AtomicPtr<c_void>,
    name: &'static CStr,
}

impl Next {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self { address: AtomicPtr::new(core::ptr::null_mut()), name }
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> *mut c_void {
        let address = self.address.load(Ordering::Relaxed);
        if address.is_null() { self.late() } else { address }
    }

    #[cold]
    #[inline(never)]
    fn late(&self) -> *mut c_void {
        resolve();
        self.address.load(Ordering::Relaxed)
    }

    fn find(&self) {
        self.set(look_up(self.name));
    }

    /// Sets the function's address.
    pub(crate) fn set(&self, address: *mut c_void) {
        self.address.store(address, Ordering::Relaxed);
    }

    /// The function's name.
    pub(crate) fn name(&self) -> &'static CStr {
        self.name
    }
}

/// This library was loaded late and precedes no other: functions are looked up where the program would find them.
static WAS_INJECTED: AtomicBool = AtomicBool::new(false);

/// The next `free` if the next allocator is glibc's, null otherwise.
static PLAIN_FREE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// The next `malloc` as it was found, in its library.
static FOUND_MALLOC: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Notes that a function now leads to us, and that what it was begins elsewhere: from now on we go on there.
#[cold]
pub(crate) fn note_moved(function: *mut c_void, beginning: *mut c_void) {
    for next in ALL.iter().filter(|next| next.address.load(Ordering::Relaxed) == function) {
        next.set(beginning);
    }
}

/// The next `free` if it is glibc's.
#[inline(always)]
pub(crate) fn plain_free() -> Option<Free> {
    let address = PLAIN_FREE.load(Ordering::Relaxed);
    // SAFETY: null, or the address of `free`, which has this type in C; an optional function is null or its address.
    unsafe { core::mem::transmute::<*mut c_void, Option<Free>>(address) }
}

/// Looks up all functions.
#[cold]
fn find_all() {
    own_call(|| {
        for next in ALL {
            next.find();
        }
        FOUND_MALLOC.store(MALLOC.get(), Ordering::Relaxed);
        // musl's functions call each other by name, and the header of its blocks is unknown to us.
        let is_plain = !c_library::is_musl()
            && [libc::getauxval as *mut c_void, FREE.get()].into_iter().all(is_of_allocator);
        PLAIN_FREE.store(if is_plain { FREE.get() } else { core::ptr::null_mut() }, Ordering::Relaxed);
    });
}

/// Looks up all functions anew, for a library that precedes no other.
#[cold]
pub(crate) fn resolve_from_program() {
    WAS_INJECTED.store(true, Ordering::Relaxed);
    find_all();
}

/// The next function of this name; null when there is none.
#[cold]
pub(crate) fn look_up(name: &CStr) -> *mut c_void {
    if WAS_INJECTED.load(Ordering::Relaxed) {
        return own_call(|| from_program::look_up(name));
    }
    own_call(|| {
        // SAFETY: the name is a string; RTLD_NEXT searches after the library that this code is in.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        if found.is_null() {
            forget_error();
        }
        found
    })
}

/// Makes the dynamic loader forget the error of a failed call of ours. The loader frees the message once it was asked
/// for and something else is asked, which would otherwise happen in a call of the program: a free of what nobody has
/// allocated.
fn forget_error() {
    for _ in 0..2 {
        // SAFETY: may always be called.
        unsafe { libc::dlerror() };
    }
}

const UNRESOLVED: u32 = 0;
const RESOLVING: u32 = 1;
const RESOLVED: u32 = 2;
static STATE: AtomicU32 = AtomicU32::new(UNRESOLVED);

/// True once all functions are known.
pub(crate) fn is_resolved() -> bool {
    STATE.load(Ordering::Relaxed) == RESOLVED
}

/// Looks up all functions. Calls that arrive while a thread does so get memory of [`crate::platform::bootstrap`].
#[cold]
pub(crate) fn resolve() {
    if STATE.compare_exchange(UNRESOLVED, RESOLVING, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return;
    }
    find_all();
    STATE.store(RESOLVED, Ordering::Release);
}

macro_rules! next {
    ($($(#[$doc:meta])* $static:ident, $function:ident = $name:literal: fn($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(pub(crate) static $static: $crate::next::real::Next = $crate::next::real::Next::new($name);)*

        /// All functions.
        pub(crate) static ALL: &[&$crate::next::real::Next] = &[$(&$static),*];

        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// As for the C function of this name.
            #[inline(always)]
            pub(crate) unsafe fn $function($($argument: $type),*) -> Option<next!(@result $($result)?)> {
                let address = $static.get();
                if address.is_null() {
                    return None;
                }
                // SAFETY: the address was found under this name, which has this type in C.
                let function = unsafe {
                    core::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) $(-> $result)?>(address)
                };
                // SAFETY: the caller vouches for the arguments.
                Some(unsafe { function($($argument),*) })
            }
        )*
    };
    (@result) => { () };
    (@result $result:ty) => { $result };
}
pub(crate) use next;

type Pointer = *mut c_void;
/// The type of `free`.
pub(crate) type Free = unsafe extern "C" fn(block: Pointer);
type Strings = *const *const c_char;

next! {
    /// The next `malloc`; `None` while it is unknown.
    MALLOC, malloc = c"malloc": fn(size: usize) -> Pointer;
    /// The next `calloc`.
    CALLOC, calloc = c"calloc": fn(count: usize, size: usize) -> Pointer;
    /// The next `realloc`.
    REALLOC, realloc = c"realloc": fn(block: Pointer, size: usize) -> Pointer;
    /// The next `reallocarray`.
    REALLOCARRAY, reallocarray = c"reallocarray": fn(block: Pointer, count: usize, size: usize) -> Pointer;
    /// The next `free`.
    FREE, free = c"free": fn(block: Pointer);
    /// The next `posix_memalign`.
    POSIX_MEMALIGN, posix_memalign = c"posix_memalign": fn(block: *mut Pointer, alignment: usize, size: usize) -> c_int;
    /// The next `aligned_alloc`.
    ALIGNED_ALLOC, aligned_alloc = c"aligned_alloc": fn(alignment: usize, size: usize) -> Pointer;
    /// The next `memalign`.
    MEMALIGN, memalign = c"memalign": fn(alignment: usize, size: usize) -> Pointer;
    /// The next `valloc`.
    VALLOC, valloc = c"valloc": fn(size: usize) -> Pointer;
    /// The next `pvalloc`.
    PVALLOC, pvalloc = c"pvalloc": fn(size: usize) -> Pointer;
    /// The next `malloc_usable_size`.
    USABLE_SIZE, malloc_usable_size = c"malloc_usable_size": fn(block: Pointer) -> usize;
    /// The next `mmap`.
    MMAP, mmap = c"mmap": fn(address: Pointer, length: usize, protection: c_int, flags: c_int, descriptor: c_int, offset: i64) -> Pointer;
    /// The next `munmap`.
    MUNMAP, munmap = c"munmap": fn(address: Pointer, length: usize) -> c_int;
    /// The next `mremap`, always with its fifth argument, which is ignored unless the flags ask for it.
    MREMAP, mremap = c"mremap": fn(address: Pointer, old: usize, new: usize, flags: c_int, to: Pointer) -> Pointer;
    /// The next `mprotect`.
    MPROTECT, mprotect = c"mprotect": fn(address: Pointer, length: usize, protection: c_int) -> c_int;
    /// The next `brk`.
    BRK, brk = c"brk": fn(address: Pointer) -> c_int;
    /// The next `sbrk`.
    SBRK, sbrk = c"sbrk": fn(increment: isize) -> Pointer;
    /// The next `dlopen`. It searches for the library on behalf of its caller.
    DLOPEN, dlopen = c"dlopen": fn(file: *const c_char, flags: c_int) -> Pointer;
    /// The next `dlclose`.
    DLCLOSE, dlclose = c"dlclose": fn(handle: Pointer) -> c_int;
    /// The next `_exit`.
    EXIT, exit = c"_exit": fn(code: c_int);
    /// The next `fork`.
    FORK, fork = c"fork": fn() -> c_int;
    /// The next `_Fork`.
    BARE_FORK, bare_fork = c"_Fork": fn() -> c_int;
    /// The next `daemon`.
    DAEMON, daemon = c"daemon": fn(stay: c_int, keep: c_int) -> c_int;
    /// The next `execve`.
    EXECVE, execve = c"execve": fn(path: *const c_char, arguments: Strings, environment: Strings) -> c_int;
    /// The next `execvpe`.
    EXECVPE, execvpe = c"execvpe": fn(file: *const c_char, arguments: Strings, environment: Strings) -> c_int;
    /// The next `fexecve`.
    FEXECVE, fexecve = c"fexecve": fn(descriptor: c_int, arguments: Strings, environment: Strings) -> c_int;
    /// The next `execveat`.
    EXECVEAT, execveat = c"execveat": fn(folder: c_int, path: *const c_char, arguments: Strings, environment: Strings, flags: c_int) -> c_int;
    /// The next `prctl`, always with five arguments.
    PRCTL, prctl = c"prctl": fn(option: c_int, second: usize, third: usize, fourth: usize, fifth: usize) -> c_int;
    /// The next `prlimit`.
    PRLIMIT, prlimit = c"prlimit": fn(pid: c_int, resource: c_uint, new: *const Limit, old: *mut Limit) -> c_int;
    /// The next `sigaltstack`.
    SIGALTSTACK, sigaltstack = c"sigaltstack": fn(stack: *const libc::stack_t, old: *mut libc::stack_t) -> c_int;
    /// The next `syscall`, for calls of up to three arguments.
    SYSCALL, syscall = c"syscall": fn(number: i64, first: usize, second: usize, third: usize) -> i64;
    /// The next `posix_spawn`.
    SPAWN, posix_spawn = c"posix_spawn": fn(pid: *mut c_int, path: *const c_char, actions: *const c_void, attributes: *const c_void, arguments: Strings, environment: Strings) -> c_int;
    /// The next `system`.
    SYSTEM, system = c"system": fn(command: *const c_char) -> c_int;
    /// The next `popen`.
    POPEN, popen = c"popen": fn(command: *const c_char, kind: *const c_char) -> Pointer;
    /// The next `posix_spawnp`.
    SPAWNP, posix_spawnp = c"posix_spawnp": fn(pid: *mut c_int, file: *const c_char, actions: *const c_void, attributes: *const c_void, arguments: Strings, environment: Strings) -> c_int;
}

/// The C++ runtime libraries.
const CXX_RUNTIMES: [&CStr; 2] = [c"libstdc++.so.6", c"libc++.so.1"];

/// The next form of a C++ function; null when there is none. For a program's plug-ins there may be none in the search
/// order: then it is the runtime's, found without a failing look-up, which would allocate.
#[cold]
pub(crate) fn look_up_form(name: &CStr) -> *mut c_void {
    // Prepared here, because a process that is not recorded needs it, too.
    loader::prepare();
    let is_only_the_runtimes =
        !WAS_INJECTED.load(Ordering::Relaxed) && !own_call(|| search::is_defined_beside(name, &CXX_RUNTIMES));
    let next = if is_only_the_runtimes { core::ptr::null_mut() } else { look_up(name) };
    if next.is_null() { in_cxx_runtime(name) } else { next }
}

/// A function of a C++ runtime that was loaded outside of the global scope, as by plug-ins of a C program; null when
/// there is none.
///
/// Its symbol table is read. Opening it again would make the loader free memory of the program, unseen by us.
#[cold]
fn in_cxx_runtime(name: &CStr) -> *mut c_void {
    own_call(|| {
        let modules = CXX_RUNTIMES.into_iter().filter_map(search::loaded);
        let found = modules.map(Dynamic::of).find_map(|module| module.function(name));
        found.unwrap_or(core::ptr::null_mut())
    })
}

/// Address of the next `dlopen`.
pub(crate) extern "C" fn dlopen_address() -> *mut c_void {
    DLOPEN.get()
}

/// True for the name of a function that is called through this module.
pub(crate) fn is_known(name: &CStr) -> bool {
    ALL.iter().any(|next| next.name == name)
}

/// True when this library precedes no other.
pub(crate) fn was_injected() -> bool {
    WAS_INJECTED.load(Ordering::Relaxed)
}

/// Address of the next `syscall`.
pub(crate) extern "C" fn syscall_address() -> *mut c_void {
    SYSCALL.get()
}

/// Address of the next `malloc`, in its library.
pub(crate) fn malloc_address() -> *mut c_void {
    FOUND_MALLOC.load(Ordering::Relaxed)
}

/// True when a function lies in the library of the next `malloc`: an allocator with C++ forms of its own.
#[cold]
pub(crate) fn is_of_allocator(function: *mut c_void) -> bool {
    let malloc = origin::base_of(malloc_address());
    malloc.is_some() && malloc == origin::base_of(function)
}
