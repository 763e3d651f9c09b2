//! What libc, the loader, libstdc++ and Rust's runtime deliberately keep as long as the process lives.
//!
//! A rule applies only if nothing but these libraries is between its function and the allocator, so that it never
//! hides what a callback of the program leaks. Rust's are in the program's own file, and known by their names:
//!
//! ```text
//!  hidden       malloc < _IO_file_doallocate [libc] < puts [libc] < main [app]
//!  not hidden   malloc < make_table [app] < qsort [libc] < … < _dl_init [ld-linux]
//! ```

/// The libraries that the rules are about, and the loader: prefixes of file names.
const LIBRARIES: &[&str] = &[
    "libc.so",
    "libc-2",
    "ld-linux",
    "ld-2",
    "libstdc++.so",
    "libpthread.so",
    "libpthread-2",
    "libgcc_s.so",
    "libm.so",
];

/// The crates of Rust that a program brings with it.
const CRATES: &[&str] = &["alloc::", "core::", "std::"];

/// A built-in rule.
#[derive(Debug)]
pub(super) struct BuiltIn {
    /// Prefix of the library's file name; empty for any file, since the library may be linked statically; [`RUST`].
    pub(super) library: &'static str,
    /// The function; may contain `*` and `?`.
    pub(super) function: &'static str,
    /// Why the block is kept.
    pub(super) why: &'static str,
}

/// For functions of Rust's own crates, in any file.
pub(super) const RUST: &str = "std";

const fn rule(library: &'static str, function: &'static str, why: &'static str) -> BuiltIn {
    BuiltIn { library, function, why }
}

const LOADER: &str = "tables of the loader, and what system libraries allocate when loaded";
const STREAMS: &str = "buffers of open streams";
const EXIT: &str = "the list of exit handlers";
const LOCALE: &str = "locales are loaded once";
const ZONE: &str = "time zones are loaded once";
const CONVERSION: &str = "character conversions are loaded once";
const NAMES: &str = "name services are loaded once";
const ENVIRONMENT: &str = "the environment may be pointed to";
const THREADS: &str = "thread stacks are kept for the next thread";
const RUNTIME: &str = "Rust's runtime keeps its main thread";
const EXCEPTIONS: &str = "reserve for exceptions when out of memory";

/// The rules. Names are those of glibc 2.35 to 2.41, of GCC 11 to 15 and of Rust 1.80 to 1.96.
pub(super) const RULES: &[BuiltIn] = &[
    rule("ld-linux", "*", LOADER),
    rule("ld-2", "*", LOADER),
    rule("libc", "_IO_*doallocate", STREAMS),
    rule("libc", "__new_exitfn", EXIT),
    rule("libc", "__cxa_atexit", EXIT),
    rule("libc", "__cxa_at_quick_exit", EXIT),
    rule("libc", "setlocale", LOCALE),
    rule("libc", "_nl_*", LOCALE),
    rule("libc", "tzset*", ZONE),
    rule("libc", "__tz*", ZONE),
    rule("libc", "__gconv*", CONVERSION),
    rule("libc", "__nss*", NAMES),
    rule("libc", "__add_to_environ", ENVIRONMENT),
    rule("libc", "setenv", ENVIRONMENT),
    rule("libc", "putenv", ENVIRONMENT),
    rule("libc", "pthread_create*", THREADS),
    rule("libpthread", "pthread_create*", THREADS),
    rule("", "_GLOBAL__sub_I_eh_alloc.cc", EXCEPTIONS),
    rule("", "__gnu_cxx::*::pool::pool*", EXCEPTIONS),
    rule(RUST, "std::sys::pal::unix::stack_overflow::*", RUNTIME),
    rule(RUST, "std::thread::current::init_current*", RUNTIME),
    rule(RUST, "std::rt::init*", RUNTIME),
    rule(RUST, "std::rt::lang_start_internal", RUNTIME),
];

/// True for a file that the rules are about.
pub(super) fn is_library(file_name: &str) -> bool {
    LIBRARIES.iter().any(|library| file_name.starts_with(library))
}

/// True for a function of Rust's own crates, whatever the types it was made for.
pub(super) fn is_of_rust(function: &str) -> bool {
    let function = function.trim_start_matches(['<', '&']);
    CRATES.iter().any(|name| function.starts_with(name))
}
